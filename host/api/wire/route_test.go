// SPDX-License-Identifier: MIT

package wire

import (
	"testing"

	"github.com/penstock/penstock/host/refusal"
)

// Clients know these numbers and words: none of them may change.
func TestStatusOf_EachKind_HasItsStatusAndType(t *testing.T) {
	for _, tc := range []struct {
		kind    refusal.Kind
		status  int
		ofError string
	}{
		{refusal.KindInternal, 500, "server_error"},
		{refusal.KindInvalid, 400, "invalid_request_error"},
		{refusal.KindTooLong, 400, "exceed_context_size_error"},
		{refusal.KindUnauthenticated, 401, "authentication_error"},
		{refusal.KindForbidden, 403, "permission_error"},
		{refusal.KindNotFound, 404, "invalid_request_error"},
		{refusal.KindWrongMethod, 405, "invalid_request_error"},
		{refusal.KindNoUpgrade, 426, "invalid_request_error"},
		{refusal.KindLate, 408, "invalid_request_error"},
		{refusal.KindConflict, 409, "invalid_request_error"},
		{refusal.KindInUse, 409, "rate_limit_error"},
		{refusal.KindLost, 410, "invalid_request_error"},
		{refusal.KindTooLarge, 413, "invalid_request_error"},
		{refusal.KindWrongMedia, 415, "invalid_request_error"},
		{refusal.KindImpossible, 422, "invalid_request_error"},
		{refusal.KindPluginFault, 424, "invalid_request_error"},
		{refusal.KindBusy, 429, "rate_limit_error"},
		{refusal.KindPluginsBusy, 503, "rate_limit_error"},
		{refusal.KindLacking, 501, "not_supported_error"},
		{refusal.KindUnavailable, 503, "unavailable_error"},
		{refusal.KindHubForbids, 403, "invalid_request_error"},
		{refusal.KindHubBusy, 429, "invalid_request_error"},
	} {
		e := &refusal.Error{Kind: tc.kind}
		if StatusOf(e) != tc.status || TypeOf(e) != tc.ofError {
			t.Errorf("kind %d: %d %s, want %d %s", tc.kind, StatusOf(e), TypeOf(e), tc.status, tc.ofError)
		}
	}
	if last := refusal.KindHubBusy; len(kinds) != int(last)+1 { // they count from 0
		t.Errorf("%d kinds have a status, and there are %d", len(kinds), int(last)+1)
	}
}

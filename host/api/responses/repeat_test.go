// SPDX-License-Identifier: MIT

package responses

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
)

// What would come again is told by the status and the code after which Codex does not repeat a
// request; what passes keeps its own.
func TestForCodex_WhatComesAgain(t *testing.T) {
	for _, tc := range []struct {
		kind   refusal.Kind
		code   string
		status int
		failed string
	}{
		{refusal.KindPluginFault, "plugin_fault", 400, "invalid_prompt"},
		{refusal.KindImpossible, "timeout", 400, "invalid_prompt"},
		{refusal.KindInvalid, refusal.TooLongCode, 400, refusal.TooLongCode},
		{refusal.KindUnavailable, "worker_lost", 503, "worker_lost"},
		{refusal.KindInternal, "internal_error", 500, "internal_error"},
	} {
		e := &refusal.Error{Kind: tc.kind, Code: tc.code}
		var told *refusal.Error
		if !errors.As(forCodex(e), &told) || wire.StatusOf(told) != tc.status || told.Code != tc.code || failedCode(e) != tc.failed {
			t.Errorf("%s: %v, and in a stream %s", tc.code, told, failedCode(e))
		}
	}
}

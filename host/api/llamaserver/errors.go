// SPDX-License-Identifier: MIT

package llamaserver

import (
	"maps"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
)

// Error is the ErrorShape of llama-server, which says the status in the body, and besides that in
// a word what is wrong, and the field at fault.
func Error(e *refusal.Error) any {
	body := map[string]any{"code": wire.StatusOf(e), "message": e.Message, "type": wire.TypeOf(e), "reason": e.Code}
	switch {
	case e.Code == refusal.TooLongCode:
		body["type"] = wire.TypeTooLong
	case e.Kind == refusal.KindNotFound:
		body["type"] = "not_found_error"
	}
	if e.Field != "" {
		body["param"] = e.Field
	}
	for name, n := range maps.All(e.Numbers) {
		body[name] = n
	}
	return map[string]any{"error": body}
}

// notSupported refuses what a route would do.
func notSupported(message string) error {
	return &refusal.Error{Kind: refusal.KindLacking, Code: "not_supported", Message: message}
}

// SPDX-License-Identifier: MIT

package llamaserver

import (
	"maps"
	"net/http"

	"github.com/penstock/penstock/host/completion"
)

// Error is the ErrorShape of llama-server, which says the status in the body, and besides that in a word what is wrong, and the field
// at fault.
func Error(e *completion.Error) any {
	body := map[string]any{"code": e.Status, "message": e.Message, "type": e.Type, "reason": e.Code}
	switch {
	case e.Code == completion.TooLongCode:
		body["type"] = completion.TypeTooLong
	case e.Status == http.StatusNotFound:
		body["type"] = "not_found_error"
	}
	if e.Param != "" {
		body["param"] = e.Param
	}
	for name, n := range maps.All(e.Numbers) {
		body[name] = n
	}
	return map[string]any{"error": body}
}

// notSupported refuses what a route would do.
func notSupported(message string) error {
	return &completion.Error{Status: http.StatusNotImplemented, Code: "not_supported", Type: completion.TypeLacking, Message: message}
}

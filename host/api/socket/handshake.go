// SPDX-License-Identifier: MIT

package socket

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/refusal"
)

// handshake keeps back what websocket.Accept answers a request that it refuses, which would be
// plain text: such a request is refused like all others.
type handshake struct {
	*echo.Response
	status int // of the refusal; 0: there is none
}

// WriteHeader implements http.ResponseWriter.
func (h *handshake) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.Response.WriteHeader(status)
		return
	}
	h.status = status
	h.Header().Del("Content-Type") // of the text
}

// Write implements http.ResponseWriter: only a refusal has a text.
func (*handshake) Write(text []byte) (int, error) { return len(text), nil }

func (h *handshake) refusal(err error) error {
	kind := refusal.KindInvalid
	switch h.status {
	case http.StatusUpgradeRequired:
		kind = refusal.KindNoUpgrade
	case http.StatusInternalServerError, http.StatusNotImplemented:
		kind = refusal.KindInternal
	}
	return &refusal.Error{Kind: kind, Code: "no_websocket", Message: err.Error()}
}

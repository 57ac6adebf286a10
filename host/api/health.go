// SPDX-License-Identifier: MIT

package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/refusal"
)

func (s *service) livez(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// health says whether new requests are taken, in llama-server's words.
func (s *service) health(c echo.Context) error {
	if s.Ready != nil && !s.Ready() {
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "not_ready", Retry: 5,
			Message: "the server takes no new requests: it is starting or shutting down, or has lost a worker of its model"}
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "ok"})
}

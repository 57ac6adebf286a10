// SPDX-License-Identifier: MIT

package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// headAsGet answers HEAD on all routes as GET is answered: net/http, which knows what was asked,
// leaves the body out.
type headAsGet struct{ *echo.Echo }

// ServeHTTP implements http.Handler.
func (h headAsGet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		get := *r
		get.Method = http.MethodGet
		r = &get
	}
	h.Echo.ServeHTTP(w, r)
}

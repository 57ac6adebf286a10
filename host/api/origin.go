// SPDX-License-Identifier: MIT

package api

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/refusal"
)

// sameOrigin refuses pages of other origins unless they are configured, and tells browsers about
// those that are. Without it any page on the web could use a host on the visitor's machine: a POST
// with a simple content type needs no preflight. Clients that are no browsers send no Origin.
func (s *service) sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, h := c.Request(), c.Response().Header()
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")     // what a model or a file says is not to be run as a script
		h.Set("Cross-Origin-Resource-Policy", "same-origin") // a GET without an Origin, as for an image, is not shown to its page
		origin := r.Header.Get(echo.HeaderOrigin)
		if origin == "" && s.isFromElsewhere(c) {
			return &refusal.Error{Kind: refusal.KindForbidden, Code: "cross_site_not_allowed",
				Message: "a page of another site had its browser ask for this; open the address itself, or have the page's script ask from an origin that --cors-origins names"}
		}
		if origin == "" || isHost(origin, r.Host) {
			return next(c)
		}
		h.Add(echo.HeaderVary, echo.HeaderOrigin)
		if !s.allowsOrigin(origin) {
			return &refusal.Error{Kind: refusal.KindForbidden, Code: "origin_not_allowed",
				Message: "pages of " + origin + " may not call this server; --cors-origins " + origin + " would allow it"}
		}
		h.Set(echo.HeaderAccessControlAllowOrigin, origin)
		h.Set(echo.HeaderAccessControlExposeHeaders, exposedHeaders)
		if slices.Contains(s.Origins, origin) { // by name: what a proxy in front of this server knows its users by may be sent along
			h.Set(echo.HeaderAccessControlAllowCredentials, "true")
		}
		if r.Method != http.MethodOptions {
			return next(c)
		}
		h.Set(echo.HeaderAccessControlAllowMethods, "GET, POST, PUT, DELETE")
		h.Set(echo.HeaderAccessControlAllowHeaders, r.Header.Get(echo.HeaderAccessControlRequestHeaders))
		h.Set(echo.HeaderAccessControlMaxAge, "600")
		return c.NoContent(http.StatusNoContent)
	}
}

// isFromElsewhere reports whether a page of another origin has its browser send a request without
// an Origin, as for an image, a script or a form that gets. It cannot read the answer, but work
// would be done for it. A link that leads to the page of this server is followed.
func (s *service) isFromElsewhere(c echo.Context) bool {
	r := c.Request()
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "cross-site" && site != "same-site" || slices.Contains(s.Origins, "*") {
		return false
	}
	opensPage := c.Path() == pageRoute && (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	return !opensPage
}

func isHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// exposedHeaders are those that scripts of other origins may read.
const exposedHeaders = "X-Request-Id, Retry-After, X-Should-Retry, X-Ratelimit-Limit-Requests, X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests, " +
	"X-Ratelimit-Limit-Tokens, X-Ratelimit-Remaining-Tokens, X-Ratelimit-Reset-Tokens, Penstock-Schema-Relaxed"

func (s *service) allowsOrigin(origin string) bool {
	if slices.Contains(s.Origins, "*") || slices.Contains(s.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && slices.Contains(s.Origins, "localhost") && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

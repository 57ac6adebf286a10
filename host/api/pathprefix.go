// SPDX-License-Identifier: MIT

package api

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

// serveBelow serves what is inside below Prefix, if there is one. The routes, the log and the
// metrics know paths without it. The page asks for all it needs relative to its own address, which
// therefore ends with a slash.
func (s *service) serveBelow(inside http.Handler, e *echo.Echo) http.Handler {
	if s.Prefix == "" {
		return inside
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, found := strings.CutPrefix(r.URL.Path, s.Prefix)
		switch reads := r.Method == http.MethodGet || r.Method == http.MethodHead; {
		case found && strings.HasPrefix(rest, "/"):
			inside.ServeHTTP(w, withPath(r, s.Prefix, rest))
		case found && rest == "" && reads:
			toFolder(w, r)
		default:
			c := e.NewContext(r, w)
			if err := s.sameOrigin(s.answerOutside)(c); err != nil {
				s.fail(err, c)
			}
		}
	})
}

// answerOutside answers what does not begin with the prefix.
func (s *service) answerOutside(c echo.Context) error {
	r := c.Request()
	return echo.NewHTTPError(http.StatusNotFound, fmt.Sprintf("there is no %s %.80s here: all paths of this server begin with %s/", r.Method, r.URL.Path, s.Prefix))
}

// toFolder sends a browser to the same address with a slash at its end.
func toFolder(w http.ResponseWriter, r *http.Request) {
	to := path.Base(r.URL.Path) + "/"
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set(echo.HeaderLocation, "./"+to)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// withPath is a request for what is left of its path behind the prefix.
func withPath(r *http.Request, prefix, rest string) *http.Request {
	inner, u := *r, *r.URL
	u.Path = rest
	raw, found := strings.CutPrefix(u.RawPath, prefix)
	if u.RawPath = raw; !found { // there was none, or it spells the prefix with escapes
		u.RawPath = ""
	}
	inner.URL = &u
	return &inner
}

// SPDX-License-Identifier: MIT

package wire

import (
	"slices"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
)

// Route is one route of a dialect.
type Route struct {
	Method, Path string
	Handler      echo.HandlerFunc
	Body         any  // the zero value of what a body of JSON, or a form, is decoded into; nil: the route takes none
	Admin        bool // it changes what all clients share: where there are keys, it is for the admin's
	OwnKey       bool // the handler asks for a key itself where a WebSocket comes without one, which then has no caller
}

// TakesForm reports whether the body is a form with a file instead of JSON: its zero value has a
// File.
func (r Route) TakesForm() bool {
	return slices.ContainsFunc(Fields(r.Body), func(f Field) bool { return f.Type == fileType })
}

const callerKey = "caller"

// SetCaller notes who sends a request.
func SetCaller(c echo.Context, from completion.Caller) { c.Set(callerKey, from) }

// CallerOf is who sends a request.
func CallerOf(c echo.Context) completion.Caller {
	from, _ := c.Get(callerKey).(completion.Caller)
	return from
}

// HasCaller reports whether it is known who sends a request.
func HasCaller(c echo.Context) bool { return c.Get(callerKey) != nil }

// SPDX-License-Identifier: MIT

package wire

import (
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
)

// TellLeftOut tells a client, in a header for each, of the fields of its request that count for nothing: programs send some without
// which an answer is as good, and refusing them would keep those programs out.
func TellLeftOut(c echo.Context, r *completion.Request) {
	for _, field := range r.LeftOut {
		c.Response().Header().Add("Warning", `199 penstock "`+field+` is left out: this server does not act on it"`)
	}
}

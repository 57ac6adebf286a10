// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/excerpt"
)

// maxWarnings bounds how many fields are told one by one: a client bounds the headers that it
// takes, and a long conversation may have many items that are ignored.
const maxWarnings = 16

// Warnings say that fields of a request are ignored: programs send some without which an answer
// is as good, and refusing them would keep those programs out.
func Warnings(leftOut []string) []string {
	var all []string
	for i, field := range leftOut {
		if i == maxWarnings {
			return append(all, fmt.Sprintf("%d more fields are left out", len(leftOut)-i))
		}
		all = append(all, field+" is left out: this server does not act on it")
	}
	return all
}

// Warn tells a client which fields are left out, and which places of its schemas are not enforced,
// in a header for each.
func Warn(c echo.Context, leftOut, relaxed []string) {
	for _, text := range Warnings(leftOut) {
		c.Response().Header().Add("Warning", `199 penstock "`+text+`"`)
	}
	for _, text := range relaxed {
		c.Response().Header().Add(relaxedHeader, inASCII(text))
	}
}

// relaxedHeader has a place of a JSON schema that is not enforced, and why.
const relaxedHeader = "Penstock-Schema-Relaxed"

// maxHeader bounds the text of a header, in bytes: some clients give up an answer with long lines.
const maxHeader = 500

// inASCII writes what a header may not have as URIs do.
func inASCII(text string) string {
	var s strings.Builder
	for _, b := range []byte(excerpt.Of(text, maxHeader)) {
		if b < ' ' || b > '~' || b == '%' {
			fmt.Fprintf(&s, "%%%02X", b)
		} else {
			s.WriteByte(b)
		}
	}
	return s.String()
}

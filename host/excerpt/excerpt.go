// SPDX-License-Identifier: MIT

// Package excerpt shortens texts that an error message quotes.
package excerpt

import "strings"

// Of returns text as it is if it has at most that many bytes, else its beginning, cut between
// characters, and "…".
func Of(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// SPDX-License-Identifier: MIT

package answer

import (
	"strings"
	"unicode/utf8"
)

// Characters puts the bytes of tokens together to whole UTF-8 characters.
type Characters struct {
	partial []byte // the beginning of a character, at most 3 bytes
}

// Add takes the bytes of a token and returns the whole characters that they complete. Bytes that
// can never become a character come out as U+FFFD.
func (c *Characters) Add(piece string) string {
	if len(c.partial) == 0 && (isASCII(piece) || incomplete(piece) == 0 && utf8.ValidString(piece)) {
		return piece
	}
	all := string(c.partial) + piece
	n := len(all) - incomplete(all)
	c.partial = append(c.partial[:0], all[n:]...)
	return strings.ToValidUTF8(all[:n], "\uFFFD")
}

// isASCII is true of most pieces, and quicker to tell than what else they may be.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Partial is the beginning of a character that is not whole yet, and SetPartial goes back to one.
func (c *Characters) Partial() string { return string(c.partial) }

// SetPartial makes p what Partial gives.
func (c *Characters) SetPartial(p string) { c.partial = append(c.partial[:0], p...) }

// incomplete is the length of an unfinished but so far valid character at the end of s.
func incomplete(s string) int {
	for n := 1; n <= min(3, len(s)); n++ {
		c := s[len(s)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

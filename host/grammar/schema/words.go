// SPDX-License-Identifier: MIT

package schema

import "unicode/utf8"

// runeAt is the length in bytes of the character at an offset.
func runeAt(s string, at int) int {
	_, width := utf8.DecodeRuneInString(s[at:])
	return width
}

// commonPrefix is how many bytes of whole characters two texts share, which are known to share the
// first so many.
func commonPrefix(a, b string, known int) int {
	for known < len(a) && known < len(b) {
		width := runeAt(a, known)
		if len(b) < known+width || a[known:known+width] != b[known:known+width] {
			break
		}
		known += width
	}
	return known
}

// SPDX-License-Identifier: MIT

package slotfile

import (
	"strings"
	"unicode/utf8"
)

// longestName is in bytes; no usual file system takes longer ones.
const longestName = 255

// validName reports whether a name may be that of a file: one element of a path, on every system
// the same and in no way misleading. It takes and refuses the names that llama-server does.
func validName(name string) bool {
	if name == "" || len(name) > longestName || !utf8.ValidString(name) || strings.ContainsFunc(name, forbidden) {
		return false
	}
	return name[0] != ' ' && !strings.HasSuffix(name, " ") && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..")
}

// forbidden are separators and what looks like one, control characters, and what some system does
// not take.
func forbidden(r rune) bool {
	control := r <= 0x1f || r >= 0x7f && r <= 0x9f
	return control || strings.ContainsRune("/\\:*?\"<>|\uff0e\u2215\u2216\ufffd\ufeff", r)
}

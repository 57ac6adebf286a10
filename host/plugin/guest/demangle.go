// SPDX-License-Identifier: MIT

package guest

import (
	"strconv"
	"strings"
)

// rustSigns are what Rust's older mangling writes for signs that a symbol cannot have.
var rustSigns = strings.NewReplacer("$LT$", "<", "$GT$", ">", "$RF$", "&", "$BP$", "*", "$LP$", "(", "$RP$", ")", "$C$", ",", "$u20$", " ", "$u7b$", "{", "$u7d$", "}", "..", "::")

// demangled turns a symbol of Rust like _ZN6faults4fail17h0123456789abcdefE into faults::fail, also
// where LLVM made it unique with a suffix like .llvm.123. Others stay.
func demangled(name string) string {
	symbol, _, _ := strings.Cut(name, ".llvm.")
	rest, ok := strings.CutPrefix(symbol, "_ZN")
	var parts []string
	for ok && rest != "E" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if rest = rest[digits:]; err != nil || n > len(rest) {
			return name
		}
		part := rest[:n]
		if strings.HasPrefix(part, "_$") { // a part cannot begin with a sign
			part = part[1:]
		}
		parts, rest = append(parts, part), rest[n:]
	}
	if n := len(parts); n > 1 && len(parts[n-1]) == 17 && parts[n-1][0] == 'h' {
		parts = parts[:n-1] // the hash
	}
	if len(parts) == 0 {
		return name
	}
	return rustSigns.Replace(strings.Join(parts, "::"))
}

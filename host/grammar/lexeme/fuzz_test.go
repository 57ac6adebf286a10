// SPDX-License-Identifier: MIT

package lexeme

import (
	"regexp"
	"testing"
	"unicode/utf8"
)

// replacement is what encoding/json and others put where something is at fault: it cannot be told
// from a fault.
var replacement = regexp.MustCompile(`(?i)\\ufffd|\x{FFFD}`)

func FuzzAutomata_JSONString_IsWhatEncodingJSONReads(f *testing.F) {
	for _, s := range []string{"", "a", `\"`, `\u00e9`, `\ud83d\ude00`, "é😀", `\ud83d`, `\udc00`, "\x80", "\n", `\\\/\b\f\n\r\t`, "\u007f\u2028", `\uD800\uDC00`, "\"", `\`, "\xed\xa0\x80"} {
		f.Add(s)
	}
	a := NewArena(10)
	f.Fuzz(func(t *testing.T, s string) {
		if replacement.MatchString(s) {
			return
		}
		m := NewAutomata(a, 1<<20)
		for _, d := range []Decoder{UTF8, JSONString} {
			state, err := m.Start(All, d)
			if err != nil {
				t.Fatal(err)
			}
			want := utf8.ValidString(s)
			if d == JSONString {
				_, want = decoded(s)
			}
			if got := m.Accepts(follow(t, m, state, s)); got != want {
				t.Fatalf("decoder %d accepts %q: %v", d, s, got)
			}
		}
	})
}

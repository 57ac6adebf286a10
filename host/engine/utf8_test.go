// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// Bytes may come just where a character begins with them: no overlong spelling, no surrogate and
// nothing beyond Unicode, whatever the grammar was read from.
func TestEngine_Constraints_AllowOnlyWholeCharacters(t *testing.T) {
	begins := map[string]bool{}
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) {
			text := string(r)
			for n := 1; n <= min(3, len(text)); n++ {
				begins[text[:n]] = true
			}
		}
	}
	e := opened(t, Options{})
	seconds := []int{0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xA5, 0xBF, 0xC0, 0xC2, 0xE0, 0xF0, 0xFF} // where kinds of bytes begin and end
	if steadytest.Long() {
		seconds = nil
		for b := range 0x100 {
			seconds = append(seconds, b)
		}
	}
	for name, c := range map[string]struct {
		constraint sampling.Constraint
		before     string
	}{
		"grammar": {sampling.Constraint{Grammar: `root ::= [^\x00-\x7F]{2}`}, "é"},
		"regex":   {sampling.Constraint{Regex: `[^\x00-\x7F]{2}`}, "é"},
		"string":  {sampling.Constraint{JSONSchema: json.RawMessage(`{"type":"string","maxLength":2}`)}, `"a`},
		"pattern": {sampling.Constraint{JSONSchema: json.RawMessage(`{"type":"string","pattern":"^x[^a]$"}`)}, `"x`},
		"name":    {sampling.Constraint{JSONSchema: json.RawMessage(`{"type":"object"}`)}, `{"a":1,"`},
		"unique":  {sampling.Constraint{JSONSchema: json.RawMessage(`{"items":{"type":"string"},"uniqueItems":true,"type":"array"}`)}, `["é","`},
	} {
		kept := must.Get(e.read(t.Context(), c.constraint))(t)
		defer kept.release()
		s, ok, err := kept.is.Advance(kept.is.Start(), []byte(c.before))
		if !ok || err != nil {
			t.Fatalf("%s: %q may not come: %v", name, c.before, err)
		}
		for a := 0x80; a < 0x100; a++ {
			for _, b := range seconds {
				for _, third := range []int{-1, 0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBB, 0xBF, 0xC0, 0xFF} {
					text := []byte{byte(a), byte(b)}
					if third >= 0 {
						text = append(text, byte(third))
					}
					if utf8.RuneLen(firstOf(text)) == 2 || third >= 0 && utf8.RuneLen(firstOf(text[:2])) == 2 {
						continue // a whole character, after which others may come
					}
					if _, ok, err := kept.is.Advance(s, text); ok != begins[string(text)] || err != nil {
						t.Fatalf("%s: % x may come: %v, a character begins so: %v; %v", name, text, ok, begins[string(text)], err)
					}
				}
			}
		}
	}
}

// firstOf is the character that bytes begin with; -1 where none is whole.
func firstOf(text []byte) rune {
	if r, n := utf8.DecodeRune(text); r != utf8.RuneError || n > 1 {
		return r
	}
	return -1
}

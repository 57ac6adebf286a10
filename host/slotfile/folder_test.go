// SPDX-License-Identifier: MIT

package slotfile

import (
	"strings"
	"testing"
)

func TestValidName_OneElementOfAPath(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "chat.bin": true, ".hidden": true, "größe 2": true, "日本": true, strings.Repeat("x", 255): true,
		"": false, ".": false, "..": false, "a..b": false, "a.": false, " a": false, "a ": false, "a/b": false, `a\b`: false, "/etc/passwd": false,
		"../a": false, "a\x00": false, "a\nb": false, "a\x7f": false, "a\u0085": false, "a:b": false, "a*": false, "a?": false, `"a"`: false,
		"<a>": false, "a|b": false, "a\xff": false, "a\ufffd": false, "a\ufeff": false, "．．": false, "a∕b": false, "a∖b": false, "\xed\xa0\x80": false, strings.Repeat("x", 256): false,
	} {
		if got := validName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

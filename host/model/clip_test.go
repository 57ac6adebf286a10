// SPDX-License-Identifier: MIT

package model

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip_WholeCharacters(t *testing.T) {
	for i := range 4 {
		text := strings.Repeat("x", i) + strings.Repeat("🐸", 300)
		if got := clip(text); !utf8.ValidString(got) || len(got) < 590 || !strings.HasPrefix(text, got) {
			t.Errorf("%d letters before: %q", i, got)
		}
	}
	var said tail
	if _, err := said.Write([]byte(strings.Repeat("🐸", 20_000) + "x")); err != nil {
		t.Fatal(err)
	}
	if last := said.lastWords(); !utf8.ValidString(last) {
		t.Error("the last words begin within a character")
	}
}

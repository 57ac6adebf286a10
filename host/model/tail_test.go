// SPDX-License-Identifier: MIT

package model

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail_LastWords_WholeCharacters(t *testing.T) {
	var said tail
	if _, err := said.Write([]byte(strings.Repeat("🐸", 20_000) + "x")); err != nil {
		t.Fatal(err)
	}
	if last := said.lastWords(); !utf8.ValidString(last) {
		t.Error("the last words begin within a character")
	}
}

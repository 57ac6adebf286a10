// SPDX-License-Identifier: MIT

package model

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLastWords_WholeCharacters(t *testing.T) {
	stderr := newStderr()
	if _, err := stderr.Write([]byte(strings.Repeat("🐸", 20_000) + "x")); err != nil {
		t.Fatal(err)
	}
	if last := lastWords(stderr); !utf8.ValidString(last) {
		t.Error("the last words begin within a character")
	}
}

// SPDX-License-Identifier: MIT

package excerpt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOf_WholeCharacters(t *testing.T) {
	for i := range 4 {
		text := strings.Repeat("x", i) + strings.Repeat("🐸", 300)
		got := Of(text, 600)
		beginning, cut := strings.CutSuffix(got, "…")
		if !utf8.ValidString(got) || !cut || len(beginning) < 590 || !strings.HasPrefix(text, beginning) {
			t.Errorf("%d letters before: %q", i, got)
		}
	}
}

func TestOf_ShortText_IsWhole(t *testing.T) {
	for _, text := range []string{"", "frog", "🐸"} {
		if got := Of(text, 4); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// SPDX-License-Identifier: MIT

package excerpt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail_KeepsTheEndInWholeCharacters(t *testing.T) {
	tail := NewTail(64 << 10)
	for _, text := range []string{strings.Repeat("🐸", 20_000), "x"} {
		if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	got := tail.String()
	if !utf8.ValidString(got) || len(got) > 64<<10 || len(got) < 64<<10-4 || !strings.HasSuffix(got, "🐸x") {
		t.Errorf("%d bytes, ending in %q", len(got), got[max(0, len(got)-5):])
	}
	if tail.Reset(); tail.String() != "" {
		t.Errorf("after a reset: %q", tail.String())
	}
}

// SPDX-License-Identifier: MIT

package excerpt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/tools/must"
)

func TestTail_LastWords(t *testing.T) {
	for _, c := range []struct{ name, said, want string }{
		{"nothing", "", ""},
		{"a line", "loading\nno such device\n", "no such device"},
		{"an assertion", "loading\n/where/it/was/built/ggml.c:12: GGML_ASSERT(a) failed\nSIGABRT: abort\nPC=0x1\n", "ggml.c:12: GGML_ASSERT(a) failed"},
		{"a crash alone", "SIGSEGV: segmentation violation\nPC=0x1\n", "SIGSEGV: segmentation violation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tail := excerpt.NewTail(1 << 10)
			must.Get(tail.Write([]byte(c.said)))(t)
			if got := tail.LastWords(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTail_LastWords_WholeCharacters(t *testing.T) {
	tail := excerpt.NewTail(64 << 10)
	must.Get(tail.Write([]byte(strings.Repeat("🐸", 20_000) + "x")))(t)
	if last := tail.LastWords(); !utf8.ValidString(last) {
		t.Error("the last words begin within a character")
	}
}

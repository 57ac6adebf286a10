// SPDX-License-Identifier: MIT

package plugintest

import (
	"testing"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

func TestHost_Text_IsThatOfTheTokensLeft(t *testing.T) {
	asks = asking{func() {}, func() {}}
	s := Open[asking](t, Request{Pieces: []string{"na", "\xc3", "\xaf", "ve"}, Prompt: []penstock.Token{3}})
	var buffer [64]byte
	for _, c := range []struct {
		accept penstock.Token
		rewind int
		from   int32
		want   string
	}{
		{0, 0, 0, "na"}, {1, 0, 0, "na"}, {2, 0, 0, "naï"}, {3, 0, -2, "ve"}, {0, 2, 0, "nana"}, {3, 2, 1, "ave"}, {3, 0, 100, ""},
	} {
		if c.rewind > 0 {
			s.Rewind(len(s.Prompt) + c.rewind - 1)
		}
		s.Accept(c.accept)
		n := host{s: s}.Text(c.from, unsafe.Pointer(&buffer[0]), int32(len(buffer)))
		if got := string(buffer[:n]); got != c.want {
			t.Errorf("of %v, from %d: %q, want %q", s.History, c.from, got, c.want)
		}
	}
}

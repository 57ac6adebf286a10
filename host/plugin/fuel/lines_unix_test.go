// SPDX-License-Identifier: MIT

//go:build unix

package fuel

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// cost is the processor time that rewriting a module with a section takes.
func cost(t *testing.T, section []byte) time.Duration {
	t.Helper()
	wasm := lined(section)
	return steadytest.Cost(t, func() {
		if m, err := Rewrite(wasm, DefaultLimits()); err != nil || len(m.Wasm) > 40<<20 {
			t.Fatal(err, len(m.Wasm))
		}
	})
}

// Sections that were made to cost much cost no more than some times what the honest one of 1.4 MB
// does on this machine.
func TestRewrite_Lines_HostileAreCheap(t *testing.T) {
	const most = 10 // times; measured is 1.3
	honest := linesOf([]string{"main.go"}, bytes.Repeat(slices.Concat(at(3), line(0, 0, 1), line(4, 0, 1), endOfLines), 1<<15))
	long := strings.Repeat("x", 1<<20)
	many := make([]string, 1<<18)
	for i := range many {
		many[i] = "f"
	}
	var use [][]byte
	for i := range 1 << 16 {
		use = append(use, line(0, i, 0))
	}
	for name, section := range map[string][]byte{
		"rows":         linesOf([]string{"a"}, bytes.Repeat([]byte{lineCopy}, 4<<20), endOfLines),
		"files":        linesOf(many, append(use, endOfLines)...),
		"long names":   linesOf([]string{long, long, long}, line(0, 0, 1), line(0, 1, 1), endOfLines),
		"units":        bytes.Repeat(linesOf([]string{"a"}, line(0, 0, 1), endOfLines), 1<<16),
		"empty units":  make([]byte, 4<<20),
		"sequences":    linesOf([]string{"a"}, bytes.Repeat(slices.Concat(at(3), line(0, 0, 1), endOfLines), 1<<17)),
		"too large":    make([]byte, mostLineBytes+1),
		"wide special": linesOf([]string{"a"}, bytes.Repeat([]byte{255}, 4<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			bound := most * cost(t, honest)
			took := cost(t, section)
			if took > bound {
				t.Errorf("%v of processor time, at most %v", took, bound)
			}
		})
	}
}

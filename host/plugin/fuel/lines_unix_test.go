// SPDX-License-Identifier: MIT

//go:build unix

package fuel

import (
	"bytes"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processorTime is what this process has used of all processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for a wrong pointer only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cost is the least processor time of three times that a module with a section is rewritten.
func cost(t *testing.T, section []byte) time.Duration {
	t.Helper()
	wasm, least := lined(section), time.Hour
	for range 3 {
		begin := processorTime()
		m, err := Rewrite(wasm, DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if least = min(least, processorTime()-begin); len(m.Wasm) > 40<<20 {
			t.Errorf("%d bytes", len(m.Wasm))
		}
	}
	return least
}

// Sections that were made to cost much cost no more than some times what the honest one of 1.4 MB does on this machine.
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

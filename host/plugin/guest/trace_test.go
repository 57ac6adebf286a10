// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"strings"
	"testing"
)

func TestInnermost_Text(t *testing.T) {
	for name, c := range map[string]struct{ trace, want string }{
		"no lines":             {"\t.sample(i32) i32\n\t.main()", "in sample(i32) i32"},
		"comes for fuel":       {"\tpenstock:meter.refill(i64) i64\n\t.sample(i32) i32", "in sample(i32) i32"},
		"the author's":         {"\tmain.pick(i32)\n\t\t0x12: main.go:7\n\tmain.sample(i32) (i32,i32)\n\t\t0x34: main.go:3", "in main.pick at main.go:7, called by main.sample at main.go:3"},
		"the toolchain first":  {"\truntime.panic()\n\t\t0x1: /x/tinygo/src/runtime/panic.go:9\n\tmain.pick(i32)\n\t\t0x12: main.go:7", "in main.pick at main.go:7; the innermost is runtime.panic"},
		"only the toolchain's": {"\truntime.panic()\n\t\t0x1: /x/tinygo/src/runtime/panic.go:9", "in runtime.panic at /x/tinygo/src/runtime/panic.go:9"},
		"near":                 {"\tmain.pick(i32)\n\t\t0x12: main.go:7:1", "in main.pick at or after main.go:7"},
		"no line":              {"\tmain.pick(i32)\n\t\t0x12: ?", "in main.pick(i32)"},
		"Rust":                 {"\t_ZN6faults4fail17ha0e347436ea05222E(i64) i32\n\t\t0x12: src/lib.rs:7", "in faults::fail at src/lib.rs:7"},
		"many":                 {strings.Repeat("\tf()\n\t\t0x12: a.go:1\n", 9), "in f at a.go:1" + strings.Repeat(", called by f at a.go:1", shownFrames-1)},
		"Go's own trace":       {"\tmain.pick(i32)\n\nGo runtime stack trace:\nmain.x()", "in main.pick(i32)"},
		"none":                 {"", "at an unknown place"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := innermost(errors.New("wasm error: unreachable\nwasm stack trace:\n" + c.trace)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestDemangled_Rust(t *testing.T) {
	for name, want := range map[string]string{
		"_ZN6faults4fail17ha0e347436ea05222E": "faults::fail",
		"_ZN4core3fmt9Formatter3padE":         "core::fmt::Formatter::pad",
		"_ZN57_$LT$faults..Boom$u20$as$u20$penstock..plugin..Plugin$GT$6sample17h0123456789abcdefE": "<faults::Boom as penstock::plugin::Plugin>::sample",
		"main.(*boom).pick": "main.(*boom).pick", "_ZN": "_ZN", "_ZN9xE": "_ZN9xE", "_ZNE": "_ZNE", "_ZN99999999999999999999xE": "_ZN99999999999999999999xE",
	} {
		if got := demangled(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The first lines of a panic stay, whatever follows; without one the last lines stay.
func TestGuestLog_Keep_PanicStays(t *testing.T) {
	l := guestLog{left: 1 << 20}
	for range 2 * lastLines {
		l.add(1, []byte("before"))
	}
	l.add(1, []byte("panic: no way"))
	for range 2 * lastLines {
		l.add(1, []byte("a frame"))
	}
	if lines := l.last(); len(lines) != lastLines || lines[0] != "panic: no way" || lines[1] != "a frame" {
		t.Errorf("%q", lines)
	}
}

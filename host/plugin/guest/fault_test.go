// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func TestDescribeTrap(t *testing.T) {
	built := must.Get(fuel.Rewrite(append(asm.New(`{"name":"lined"}`).Wasm(), "\x00\x0c\x0b.debug_line"...), fuel.DefaultLimits()))(t)
	for name, c := range map[string]struct{ trace, want string }{
		"no lines":            {"\t.sample(i32) i32\n\t.main()", "in sample, called by main"},
		"comes for fuel":      {"\tpenstock:meter.refill(i64) i64\n\t.sample(i32) i32", "in sample"},
		"places":              {"\tmain.pick(i32)\n\t\t0x0: ?:1\n\tmain.sample(i32) (i32,i32)\n\t\t0x7fffffff: ?:1", "in main.pick, called by main.sample at 0x"},
		"the runtime's first": {"\truntime.panic()\n\tmain.pick(i32)", "in main.pick; the innermost is runtime.panic"},
		"only the runtime's":  {"\truntime.panic()\n\truntime.run()", "in runtime.panic"},
		"Rust":                {"\t_ZN6faults4fail17ha0e347436ea05222E(i64) i32", "in faults::fail"},
		"many":                {strings.Repeat("\tf()\n", 9), "in f" + strings.Repeat(", called by f", shownFrames-1)},
		"Go's own trace":      {"\tmain.pick(i32)\n\nGo runtime stack trace:\nmain.x()", "in main.pick"},
		"none":                {"", "at an unknown place"},
	} {
		t.Run(name, func(t *testing.T) {
			got := describeTrap(errors.New("wasm error: unreachable\nwasm stack trace:\n"+c.trace), built.Moves)
			if got != c.want && (name != "places" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestDemangle_Rust(t *testing.T) {
	for name, want := range map[string]string{
		"_ZN6faults4fail17ha0e347436ea05222E":                          "faults::fail",
		"_ZN6faults4fail17ha0e347436ea05222E.llvm.7780950044298308947": "faults::fail", "main.f.llvm.1": "main.f.llvm.1",
		"_ZN4core3fmt9Formatter3padE": "core::fmt::Formatter::pad",
		"_ZN57_$LT$faults..Boom$u20$as$u20$penstock..plugin..Plugin$GT$6sample17h0123456789abcdefE": "<faults::Boom as penstock::plugin::Plugin>::sample",
		"main.(*boom).pick": "main.(*boom).pick", "_ZN": "_ZN", "_ZN9xE": "_ZN9xE", "_ZNE": "_ZNE", "_ZN99999999999999999999xE": "_ZN99999999999999999999xE",
	} {
		if got := demangle(name); got != want {
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

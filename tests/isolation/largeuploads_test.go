// SPDX-License-Identifier: MIT

package isolation

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

// uploaded are modules that take long to load. Of those not called cached, each call gives another
// one, of which nothing was compiled before.
func uploaded(t *testing.T) map[string]func(n int) []byte {
	stock := hosts.Example(t, "stdgo/min-p")
	return map[string]func(n int) []byte{
		"2 MB of stock Go, cached": func(int) []byte { return stock },
		"2 MB of stock Go": func(n int) []byte { // a custom section names function 0, by the number
			name := fmt.Sprintf("%08d", n)
			return slices.Concat(stock, []byte{0, 18, 4, 'n', 'a', 'm', 'e', 1, 11, 1, 0, 8}, []byte(name))
		},
		"divisions": func(n int) []byte {
			g := asm.New(`{"name":"divisions"}`)
			division := slices.Concat(asm.I64(1), asm.I64(2), []byte{0x7f}, asm.Drop)
			for range steadytest.InLongTest(16, 4) { // half a megabyte each
				g.Function(abi.Signature{}, 0, asm.I32(n), asm.Drop, bytes.Repeat(division, 80_000))
			}
			return g.Wasm()
		},
	}
}

// tooMuch is in the refusal of a module that takes the compiler too much.
const tooMuch = "limit exceeded"

// Whoever uploads holds up nobody: what three streams notice while one module after the other is
// loaded for a second. What is promised is 1.5 times the gap without uploads, or 20 ms.
func TestHost_Uploads_HoldUpNobody(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret"}, nil)
	remote := &tck.Remote{URL: h.URL(), AdminKey: "secret"}
	if err := remote.Upload(t.Context(), hosts.Example(t, "stdgo/min-p")); err != nil { // into the cache
		t.Fatal(err)
	}
	n := 0
	for name, module := range uploaded(t) {
		next := module(n) // making one is no work of the host's
		holdsUpNobody(t, name, func() func() time.Duration { return gaps(t, h) }, func() {
			for until, going := time.Now().Add(time.Second), true; going; going = time.Now().Before(until) {
				if err := remote.Upload(t.Context(), next); err != nil && !strings.Contains(err.Error(), tooMuch) {
					t.Error(err)
				}
				n++
				next = module(n)
			}
		})
	}
	if err := remote.Clean(t.Context()); err != nil {
		t.Error(err)
	}
}

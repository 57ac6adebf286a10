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
		"8 MB of divisions": func(n int) []byte {
			g := asm.New(`{"name":"divisions"}`)
			division := slices.Concat(asm.I64(1), asm.I64(2), []byte{0x7f}, asm.Drop)
			for range 16 {
				g.Function(abi.Signature{}, 0, asm.I32(n), asm.Drop, bytes.Repeat(division, 80_000))
			}
			return g.Wasm()
		},
	}
}

// tooMuch is in the refusal of a module that takes the compiler too much.
const tooMuch = "limit exceeded"

// Whoever uploads holds up nobody: what three streams notice while one module after the other is
// loaded. As with hostile guests, the figures are for reading; what is promised is 1.5 times the
// gap without uploads, or 20 ms. An upload may take half a minute, so it is compared with as much
// time without one.
func TestHost_Uploads_HoldUpNobody(t *testing.T) {
	const rounds, round = 3, time.Second
	modules := uploaded(t)
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret"}, nil)
	remote := &tck.Remote{URL: h.URL(), AdminKey: "secret"}
	if err := remote.Upload(t.Context(), hosts.Example(t, "stdgo/min-p")); err != nil { // into the cache
		t.Fatal(err)
	}
	found, alone, uploads, loaded := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string]int{}, map[string]int{}
	for n := range rounds {
		for name, module := range modules {
			next := module(1000 * n) // making one is no work of the host's
			stop, start := gaps(t, h), time.Now()
			until := start.Add(round)
			for i := 1; time.Now().Before(until); i++ {
				if err := remote.Upload(t.Context(), next); err == nil {
					loaded[name]++
				} else if !strings.Contains(err.Error(), tooMuch) {
					t.Error(err)
				}
				uploads[name]++
				if time.Now().Before(until) {
					next = module(1000*n + i)
				}
			}
			took := time.Since(start)
			found[name] = append(found[name], stop())
			stop = gaps(t, h)
			time.Sleep(took) // a measurement, not a wait for a state: the longest of as much time
			alone[name] = append(alone[name], stop())
		}
	}
	t.Logf("%-25s %8s %8s %10s %8s %10s", "upload", "uploads", "loaded", "median gap", "longest", "without")
	for name, all := range found {
		slices.Sort(all)
		slices.Sort(alone[name])
		median, longest, without := all[rounds/2], all[rounds-1], alone[name][rounds/2]
		t.Logf("%-25s %8d %8d %10v %8v %10v", name, uploads[name], loaded[name], median.Round(time.Millisecond), longest.Round(time.Millisecond), without.Round(time.Millisecond))
		if all[0] > allowed(without) {
			t.Errorf("%s holds up others: a gap of %v at least, and of %v without it", name, all[0], without)
		}
	}
	if err := remote.Clean(t.Context()); err != nil {
		t.Error(err)
	}
}

// SPDX-License-Identifier: MIT

package compile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// BenchmarkOpen is what a module takes from the cache to code, as doc.go tells: from its skeleton,
// and without one, where wazero validates the whole metered module, which is kept beside the code
// or made each time.
func BenchmarkOpen(b *testing.B) {
	limits := fuel.DefaultLimits()
	for _, name := range []string{"min-p", "best-of-rust", "regex-stop", "stdgo/min-p"} {
		wasm, err := os.ReadFile(filepath.Join("../../../build/plugins", name+".wasm"))
		if err != nil {
			b.Fatalf("%v: run `make plugins`", err)
		}
		entry, whole := b.TempDir(), b.TempDir()
		if err := fillEntry(b.Context(), wasm, entry, limits); err != nil {
			b.Fatal(err)
		}
		m, err := fuel.Rewrite(wasm, limits)
		if err != nil {
			b.Fatal(err)
		}
		openWhole := func(wasm []byte) (*Code, error) {
			return newCode(b.Context(), newConfig(), wasm, whole, limits.MemoryPages)
		}
		if _, err := makeCode(b.Context(), m.Wasm, whole, limits.MemoryPages); err != nil {
			b.Fatal(err)
		}
		median(b, name+"/skeleton", func() (*Code, error) { return openEntry(b.Context(), entry, limits.MemoryPages) })
		median(b, name+"/whole", func() (*Code, error) { return openWhole(m.Wasm) })
		median(b, name+"/metered", func() (*Code, error) {
			m, err := fuel.Rewrite(wasm, limits)
			if err != nil {
				return nil, err
			}
			return openWhole(m.Wasm)
		})
	}
}

// median tells the median beside the mean: the machine's other work decides that.
func median(b *testing.B, name string, open func() (*Code, error)) {
	b.Run(name, func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			code, err := open()
			took = append(took, time.Since(began))
			if err != nil {
				b.Fatal(err)
			}
			if err := code.Close(); err != nil {
				b.Fatal(err)
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	})
}

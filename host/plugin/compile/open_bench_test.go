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

// BenchmarkOpen is what a module takes to code that is in the cache.
func BenchmarkOpen(b *testing.B) {
	limits := fuel.DefaultLimits()
	for _, name := range []string{"min-p", "beam-rust", "regex-stop", "stdgo/min-p"} {
		wasm, err := os.ReadFile(filepath.Join("../../../build/plugins", name+".wasm"))
		if err != nil {
			b.Fatalf("%v: run `make plugins`", err)
		}
		entry := b.TempDir()
		if err := fillEntry(b.Context(), wasm, entry, limits); err != nil {
			b.Fatal(err)
		}
		median(b, name, func() (*Code, error) { return openEntry(b.Context(), wasm, entry, limits) })
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

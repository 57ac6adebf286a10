// SPDX-License-Identifier: MIT

package examples

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
)

// BenchmarkLoad is what a plugin takes from upload to usable: compiled anew, by a child as in a
// server that compiled another one before; compiled anew in the process itself, where there is no
// cache; and with its code in the cache. The machine's other work decides the mean, so the median
// is told too.
func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"min-p", "min-p-rust", "banned-phrases", "json-schema", "regex-stop", "stdgo/min-p"} {
		wasm := read(b, name)
		for kind, cache := range map[string]func(b *testing.B) (dir string){
			"uncached":   func(b *testing.B) string { return b.TempDir() },
			"in-process": func(*testing.B) string { return "" },
			"cached":     func(b *testing.B) string { return b.TempDir() },
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				dir := cache(b)
				l := load.New(plugin.HostOptions{CacheDir: dir, ModelOptions: plugin.ModelOptions{Vocabulary: newWords()}})
				loadOnce(b, l, wasm)
				var took []time.Duration
				for b.Loop() {
					if kind == "uncached" {
						b.StopTimer()
						forget(b, dir)
						time.Sleep(pause)
						b.StartTimer()
					}
					took = append(took, loadOnce(b, l, wasm))
				}
				if err := l.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
				b.ReportMetric(float64(took[0].Microseconds())/1000, "least-ms")
			})
		}
	}
}

// pause is between two uploads: the child that compiles the next one was started after the one
// before.
const pause = 150 * time.Millisecond

// forget removes what is in a folder.
func forget(b *testing.B, dir string) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	if err != nil {
		b.Fatal(err)
	}
}

func loadOnce(b *testing.B, l *load.Loader, wasm []byte) time.Duration {
	began := time.Now()
	p, err := l.Load(b.Context(), wasm)
	took := time.Since(began)
	if err != nil {
		b.Fatal(err)
	}
	p.Release()
	return took
}

// SPDX-License-Identifier: MIT

package examples

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
)

// BenchmarkLoad is what a plugin takes from upload to usable: compiled anew, and with its code in the cache.
func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"min-p", "min-p-rust", "banned-phrases", "json-schema", "regex-stop"} {
		wasm := read(b, name)
		for kind, dir := range map[string]func() string{"uncached": func() string { return "" }, "cached": b.TempDir} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				r := load.New(plugin.Options{CacheDir: dir()})
				defer func() { _ = r.Close(context.Background()) }() // nothing of it is needed any more
				for b.Loop() {
					m, err := r.Load(context.Background(), wasm)
					if err != nil {
						b.Fatal(err)
					}
					m.Release()
				}
			})
		}
	}
}

// SPDX-License-Identifier: MIT

package hosts

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// OpenWithPlugins opens and runs a host with a plugin folder, of which modules are the files.
func OpenWithPlugins(t *testing.T, change map[string]any, modules map[string][]byte) *host.Host {
	t.Helper()
	h := Open(t, withModules(t, t.TempDir(), change, modules))
	Run(t, h)
	return h
}

// withModules are settings with a plugin folder, of which modules are the files.
func withModules(t *testing.T, dir string, change map[string]any, modules map[string][]byte) map[string]any {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for base, wasm := range modules {
		if err := os.WriteFile(filepath.Join(dir, base), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := map[string]any{"plugins.dir": dir}
	maps.Copy(flags, change)
	return flags
}

// Example is a plugin of build/plugins.
func Example(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "build", "plugins", name+".wasm"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s.wasm is not built: run `make plugins` first", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// Always is a plugin that chooses one token, whatever the logits.
func Always(name string, token int) []byte {
	g := asm.New(`{"name":"` + name + `","view":"none"}`)
	return g.On(abi.ExportSample, asm.I32(token)).Wasm()
}

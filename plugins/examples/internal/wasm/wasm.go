// SPDX-License-Identifier: MIT

// Package wasm runs built plugins in the examples' tests, on wazero and without the fuel and checks of the real host.
package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// Folder is where make plugins puts them, seen from an example's folder.
const Folder = "../../../build/plugins"

// Each runs a test against the plugin of a name as every toolchain makes it: natively and as TinyGo's WebAssembly.
func Each(t *testing.T, name string, test func(*testing.T, plugintest.Start)) {
	t.Run("native", func(t *testing.T) { test(t, plugintest.Native) })
	t.Run("wasm", func(t *testing.T) { test(t, Open(t, name+".wasm")) })
}

// Open compiles a file of Folder.
func Open(t testing.TB, file string) plugintest.Start {
	t.Helper()
	binary, err := os.ReadFile(filepath.Join(Folder, file))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s is not built; make plugins-test builds it first", file)
	} else if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	// All of the memory is reserved at once, so that it does not move and buffers stay where they are.
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(1024).WithMemoryCapacityFromMax(true))
	t.Cleanup(func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	compiled, err := r.CompileModule(ctx, binary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil { // stock Go asks for it
		t.Fatal(err)
	}
	if err := offer(ctx, r); err != nil {
		t.Fatal(err)
	}
	return func(h *plugintest.Host) (plugintest.Guest, error) {
		ctx := context.WithValue(ctx, hostKey{}, h)
		m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
		if err != nil {
			return nil, fmt.Errorf("failed to start %s: %w", file, err)
		}
		return guest{ctx, m}, nil
	}
}

// hostKey finds the host of a call.
type hostKey struct{}

type guest struct {
	ctx    context.Context
	module api.Module
}

// Has implements plugintest.Guest.
func (g guest) Has(export string) bool { return g.module.ExportedFunction(export) != nil }

// Call implements plugintest.Guest.
func (g guest) Call(export string, args ...int32) (int32, error) {
	f := g.module.ExportedFunction(export)
	if f == nil {
		return 0, fmt.Errorf("%w: %s", plugintest.ErrExport, export)
	}
	stack := make([]uint64, 0, 2)
	for _, a := range args {
		stack = append(stack, uint64(uint32(a)))
	}
	results, err := f.Call(g.ctx, stack...)
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return int32(uint32(results[0])), nil
}

// Close implements plugintest.Guest.
func (g guest) Close() error { return g.module.Close(g.ctx) }

// at is a part of the guest's memory; out of bounds it panics, which wazero turns into the call's error.
func at(m api.Module, ptr, size uint32) unsafe.Pointer {
	b, ok := m.Memory().Read(ptr, size)
	if !ok {
		panic(fmt.Sprintf("%d bytes at %d are not in the guest's memory", size, ptr))
	}
	return unsafe.Pointer(unsafe.SliceData(b))
}

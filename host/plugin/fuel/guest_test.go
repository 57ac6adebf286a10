// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/plugin/memory"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// fn is a function of a test module, exported under its name if it has one.
type fn struct {
	name            string
	params, results string // value types, a letter each: i I f F v r
	locals          []asm.Locals
	code            []byte // without the final end
}

// guest describes a test module; zero fields mean absent sections.
type guest struct {
	memory  []byte // encoded memory type
	table   []byte // encoded table type
	globals int    // mutable i32 globals, all 0
	funcs   []fn
	elems   []byte // function indices of an active segment at 0
	start   int    // function index + 1
	data    string // a passive segment
}

func types(letters string) (list []abi.Type) {
	for _, c := range letters {
		list = append(list, map[rune]abi.Type{'i': "i32", 'I': "i64", 'f': "f32", 'F': "f64", 'v': "v128", 'r': "funcref"}[c])
	}
	return list
}

func (g guest) wasm() []byte {
	m := asm.Module{Memory: g.memory, Table: g.table, Globals: g.globals, Start: g.start, Elements: g.elems, Passive: g.data}
	for _, f := range g.funcs {
		s := abi.Signature{Name: f.name, Params: types(f.params), Results: types(f.results)}
		m.Funcs = append(m.Funcs, asm.Func{Signature: s, Locals: f.locals, Code: f.code})
	}
	return m.Encode()
}

// seq joins opcodes (ints), indices and encoded pieces into code.
func seq(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func i32c(x int64) []byte { return appendSigned([]byte{0x41}, x) }
func i64c(x int64) []byte { return appendSigned([]byte{0x42}, x) }

func repeat(n int, code []byte) []byte {
	b := make([]byte, 0, n*len(code))
	for range n {
		b = append(b, code...)
	}
	return b
}

const (
	testFuel  = 20_000_000
	testStack = 8 << 20
)

// live is an instance of a rewritten module.
type live struct {
	api.Module
	meter *Meter
	info  *Module
}

func newRuntime(t testing.TB) wazero.Runtime {
	t.Helper()
	r := wazero.NewRuntime(context.Background())
	t.Cleanup(func() { r.Close(context.Background()) })
	must.Do(t, Offer(context.Background(), r))
	return r
}

// instantiate rewrites, compiles and instantiates; it fills the counters with
// the usual limits.
func instantiate(t testing.TB, r wazero.Runtime, wasm []byte) *live {
	t.Helper()
	info, err := Rewrite(wasm, DefaultLimits())
	if err != nil {
		t.Fatalf("rewrite: %v", err)
	}
	region := must.Get(memory.New(uint64(info.MemoryPages)<<16, nil))(t)
	ctx := experimental.WithMemoryAllocator(context.Background(), region)
	mod, err := r.InstantiateWithConfig(ctx, info.Wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatalf("instantiate: %v", err)
	}
	t.Cleanup(func() { mod.Close(context.Background()) })
	meter := must.Get(NewMeter(mod))(t)
	meter.Fill(testFuel, testStack, time.Now())
	return &live{mod, meter, info}
}

// hungry makes slices small, so that every place where the guest comes for the next is tried.
func (l *live) hungry(slice int64) {
	l.meter.Pause = func() error { l.meter.slice = slice; return nil }
	l.meter.slice = slice
}

// call runs an export and returns its results, the fuel used and the error.
func (l *live) call(name string, args ...uint64) ([]uint64, int64, error) {
	l.meter.Fill(testFuel, testStack, time.Now())
	res, err := l.ExportedFunction(name).Call(WithMeter(context.Background(), l.meter), args...)
	if err == nil {
		err = l.meter.Err()
	}
	return res, testFuel - l.meter.Left(), err
}

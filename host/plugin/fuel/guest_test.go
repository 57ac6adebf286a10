// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// fn is a function of a test module, exported under its name if it has one.
type fn struct {
	name            string
	params, results string // value types, a letter each: i I f F v r
	locals          []byte // encoded groups, without their number
	groups          int
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
	imports []fn   // from module "env", under their names
}

func types(letters string) []byte {
	b := appendU32(nil, uint32(len(letters)))
	for _, c := range letters {
		b = append(b, map[rune]byte{'i': 0x7f, 'I': 0x7e, 'f': 0x7d, 'F': 0x7c, 'v': 0x7b, 'r': 0x70}[c])
	}
	return b
}

func vec(n int, items ...[]byte) []byte {
	b := appendU32(nil, uint32(n))
	for _, i := range items {
		b = append(b, i...)
	}
	return b
}

func (g guest) wasm() []byte {
	all := append(append([]fn{}, g.imports...), g.funcs...)
	var typ, imp, fun, exp, code []byte
	exports, known := 0, map[string]int{}
	for i, f := range all {
		key := string(append(append([]byte{0x60}, types(f.params)...), types(f.results)...))
		if _, ok := known[key]; !ok {
			known[key] = len(known)
			typ = append(typ, key...)
		}
		if i < len(g.imports) {
			imp = append(appendName(appendName(imp, "env"), f.name), 0, byte(known[key]))
			continue
		}
		fun = appendU32(fun, uint32(known[key]))
		if f.name != "" {
			exports++
			exp = appendU32(append(appendName(exp, f.name), 0), uint32(i))
		}
		body := append(append(appendU32(nil, uint32(f.groups)), f.locals...), f.code...)
		code = append(appendU32(code, uint32(len(body)+1)), append(body, opEnd)...)
	}
	if g.memory != nil {
		exports++
		exp = append(appendName(exp, "memory"), 2, 0)
	}
	b := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, n int, body []byte) {
		if n > 0 {
			b = appendSection(b, id, vec(n, body))
		}
	}
	section(secType, len(known), typ)
	section(secImport, len(g.imports), imp)
	section(secFunction, len(g.funcs), fun)
	section(secTable, min(1, len(g.table)), g.table)
	section(secMemory, min(1, len(g.memory)), g.memory)
	var globals []byte
	for range g.globals {
		globals = append(globals, typeI32, 1, 0x41, 0, opEnd)
	}
	section(secGlobal, g.globals, globals)
	section(secExport, exports, exp)
	if g.start > 0 {
		b = appendSection(b, secStart, []byte{byte(g.start - 1)})
	}
	if g.elems != nil {
		section(secElement, 1, append([]byte{0, 0x41, 0, opEnd}, vec(len(g.elems), g.elems)...))
	}
	if g.data != "" {
		b = appendSection(b, secDataCount, []byte{1})
	}
	section(secCode, len(g.funcs), code)
	if g.data != "" {
		section(secData, 1, appendName([]byte{1}, g.data))
	}
	return b
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
	if err := Offer(context.Background(), r); err != nil {
		t.Fatal(err)
	}
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
	mod, err := r.InstantiateWithConfig(context.Background(), info.Wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatalf("instantiate: %v", err)
	}
	t.Cleanup(func() { mod.Close(context.Background()) })
	meter, err := NewMeter(mod)
	if err != nil {
		t.Fatal(err)
	}
	meter.Fill(testFuel, testStack)
	return &live{mod, meter, info}
}

// hungry makes slices small, so that every place where the guest comes for the next is tried.
func (l *live) hungry(slice int64) {
	l.meter.Pause = func() error { l.meter.slice = slice; return nil }
	l.meter.slice = slice
}

// call runs an export and returns its results, the fuel used and the error.
func (l *live) call(name string, args ...uint64) ([]uint64, int64, error) {
	l.meter.Fill(testFuel, testStack)
	res, err := l.ExportedFunction(name).Call(WithMeter(context.Background(), l.meter), args...)
	if err == nil {
		err = l.meter.Fault()
	}
	return res, testFuel - l.meter.Left(), err
}

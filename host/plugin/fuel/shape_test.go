// SPDX-License-Identifier: MIT

package fuel

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

// reshaped is the shape of a function, and how many values its code leaves on the stack.
func reshaped(t *testing.T, f fn) (shape, int) {
	t.Helper()
	var locals []byte
	for _, l := range f.locals {
		locals = append(appendU32(locals, l.N), typeI64)
	}
	body := slices.Concat(appendU32(nil, uint32(len(f.locals))), locals, f.code, []byte{opEnd})
	limits := DefaultLimits()
	limits.FunctionWork = 1 << 50
	m := &module{limits: limits, start: -1, extraIndex: map[string]int{}, memories: 1, tables: 1, globals: 1,
		types: []signature{{}, {params: []byte{typeI64, typeI64}, results: []byte{typeI64}}}, functions: []uint32{0, 1}}
	m.refillType = m.appendType(signature{params: []byte{typeI64}, results: []byte{typeI64}})
	g := &function{module: m}
	params := bytes.Repeat([]byte{typeI64}, len(f.params))
	g.rewrite(nil, signature{params: params, results: bytes.Repeat([]byte{typeI64}, len(f.results))}, &reader{data: body})
	if g.in.err != nil {
		t.Fatal(g.in.err)
	}
	return g.shape, g.height
}

// Values are counted where they live: on the stack at each edge, locals from where they are set to
// where they are read.
func TestShape_Lives(t *testing.T) {
	branch := seq(opLocalGet, 0, 0xa7, opIf, emptyBlock, opEnd) // the edges are: into the if, out of it
	two := seq(opLocalGet, 0, opLocalGet, 0)
	for name, c := range map[string]struct {
		code                   []byte
		stacked, spans, looped int64
	}{
		"two values, two branches":   {seq(two, branch, branch, 0x1a, 0x1a), 8, 2, 0},
		"none":                       {seq(branch, branch), 0, 2, 0},
		"of a block":                 {seq(two, opBlock, 1, 0x1a, opEnd, 0x1a), 2 + 1 + 0, 0, 0},
		"a call takes two":           {seq(two, 0x10, 1, branch, 0x1a), 2, 0, 0},
		"an indirect call one more":  {seq(two, i32c(0), 0x11, 1, 0, branch, 0x1a), 2, 0, 0},
		"both arms":                  {seq(opLocalGet, 0, opLocalGet, 0, 0xa7, opIf, typeI64, opLocalGet, 0, 0x05, opLocalGet, 0, opEnd, opI64Add, 0x1a), 1 + 2, 1, 0},
		"dead code":                  {seq(opBlock, emptyBlock, opBr, 0, two, branch, opEnd), 0, 0, 0},
		"read late, never set":       {seq(branch, branch, opLocalGet, 1, 0x1a), 0, 2 + 4, 0},
		"set early, read late":       {seq(branch, opLocalGet, 0, opLocalSet, 1, branch, opLocalGet, 1, 0x1a), 0, 2 + 2, 0},
		"set and read":               {seq(branch, branch, opLocalGet, 0, opLocalSet, 1, opLocalGet, 1, 0x1a), 0, 4, 0},
		"set in an arm, read after":  {seq(branch, opLocalGet, 0, 0xa7, opIf, emptyBlock, i64c(1), opLocalSet, 1, opEnd, opLocalGet, 1, 0x1a), 0, 2 + 3 + 1, 0},
		"two locals in two loops":    {seq(opLoop, emptyBlock, opLoop, emptyBlock, opLocalGet, 0, opLocalGet, 1, opLocalGet, 0, 0x1a, 0x1a, 0x1a, opEnd, opEnd), 0, 16, 8},
		"each local once for a loop": {seq(opLoop, emptyBlock, repeat(9, seq(opLocalGet, 0, 0x1a)), opEnd, opLoop, emptyBlock, opEnd), 0, 4, 1},
	} {
		got, left := reshaped(t, fn{params: "I", locals: locals(2, "i64"), code: c.code})
		want := [...]int64{c.stacked, c.spans, c.looped, 0}
		if diff := cmp.Diff(want, [...]int64{got.stacked, got.spans, got.looped, int64(left)}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Compiling takes memory in proportion to the code and to the work that was estimated, whatever
// the shape.
func TestShape_Work_BoundsMemory(t *testing.T) {
	const perByte, perUnit = 1 << 10, 36 // bytes; measured are 800 and 32
	value := seq(opLocalGet, 0, i64c(3), opI64Add)
	each := func(n int, code func(i int) []byte) (all []byte) {
		for i := range n {
			all = append(all, code(i)...)
		}
		return all
	}
	get := func(i int) []byte { return seq(opLocalGet, index(i+1)) }
	sum := func(i int) []byte { return seq(get(i), 0x85) }
	set := func(i int) []byte { return seq(value, opLocalSet, index(i+1)) }
	branches := repeat(500, seq(opLocalGet, 0, 0xa7, opIf, emptyBlock, opEnd))
	loops := repeat(20, seq(opLoop, emptyBlock, opLocalGet, 0, 0xa7, opBrIf, 0, opEnd))
	nested := seq(repeat(100, []byte{opLoop, emptyBlock}), repeat(100, seq(opLocalGet, 0, 0xa7, opBrIf, 0, opEnd)))
	values := func(n int, across []byte) []byte { return seq(repeat(n, value), across, repeat(n-1, []byte{0x85})) }
	for name, code := range map[string][]byte{
		"straight":                   seq(repeat(10_000, seq(value, opLocalSet, 0)), opLocalGet, 0),
		"fills":                      seq(repeat(300, seq(i32c(0), i32c(1), i32c(1<<20), 0xfc, 11, 0)), opLocalGet, 0),
		"a deep stack":               values(20_000, nil),
		"values across branches":     values(4_000, branches),
		"values across loops":        values(4_000, loops),
		"values across nested loops": values(2_000, nested),
		"locals across branches":     seq(each(1_000, set), branches, i64c(0), each(1_000, sum)),
		"locals read after branches": seq(branches, i64c(0), each(1_000, sum)),
		"locals read in loops":       seq(repeat(4, seq(opLoop, emptyBlock, i64c(0), each(1_000, sum), opLocalSet, 0, opLocalGet, 0, 0xa7, opBrIf, 0, opEnd)), opLocalGet, 0),
		"locals changed in branches": seq(repeat(4, seq(opLocalGet, 0, 0xa7, opIf, emptyBlock, each(1_000, set), opEnd)), i64c(0), each(1_000, sum)),
	} {
		limits := DefaultLimits()
		limits.FunctionWork, limits.Work = 1<<50, 1<<50
		f := fn{params: "I", results: "I", locals: locals(1_001, "i64"), code: code}
		wasm := guest{memory: []byte{0, 1}, funcs: []fn{f}}.wasm()
		m := must.Get(Rewrite(wasm, limits))(t)
		s, _ := reshaped(t, f)
		bound := uint64(8<<20+perByte*len(code)) + uint64(perUnit*s.work(1_002))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		compiled := must.Get(newRuntime(t).CompileModule(context.Background(), m.Wasm))(t)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > bound {
			t.Errorf("%s: compiling takes %d MB, the estimate allows %d", name, took>>20, bound>>20)
		}
		_ = compiled.Close(context.Background())
	}
}

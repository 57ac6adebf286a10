// SPDX-License-Identifier: MIT

package fuel

import (
	"errors"
	"strings"
	"testing"
)

func TestRewrite_Loop_CostsWhatItRuns(t *testing.T) {
	// sum of n, n−1 … 1: a loop of 10 instructions
	sum := seq(opLoop, emptyBlock,
		opLocalGet, 0, opLocalGet, 1, 0x6a, opLocalSet, 1,
		opLocalGet, 0, i32c(1), 0x6b, opLocalTee, 0, opBrIf, 0, opEnd,
		opLocalGet, 1)
	g := guest{funcs: []fn{{name: "sum", params: "i", results: "i", locals: locals(1, "i32"), code: sum}}}
	l := instantiate(t, newRuntime(t), g.wasm())
	for _, n := range []uint64{1, 10, 1000} {
		res, used, err := l.call("sum", n)
		if err != nil {
			t.Fatal(err)
		}
		if want := n * (n + 1) / 2; res[0] != want {
			t.Errorf("sum(%d) = %d, want %d", n, res[0], want)
		}
		// one for the loop and nine within, one for the call; what follows
		// the loop is in the loop's own segment
		if want := int64(11*n + 1); used != want {
			t.Errorf("sum(%d) used %d units, want %d", n, used, want)
		}
	}
}

func TestRewrite_Start_IsExportedAndNotRun(t *testing.T) {
	forever := seq(opLoop, emptyBlock, opBr, 0, opEnd)
	g := guest{funcs: []fn{{code: forever}}, start: 1}
	l := instantiate(t, newRuntime(t), g.wasm())
	if !l.info.Start {
		t.Error("Start is false")
	}
	_, _, err := l.call(StartExport)
	if err == nil || !errors.Is(l.meter.Err(), ErrFuel) {
		t.Errorf("endless start function: error %v, fault %v", err, l.meter.Err())
	}
}

func TestRewrite_Counters_CannotBeNamed(t *testing.T) {
	const own = 2
	set := func(i int) []byte { return seq(i64c(1<<40), opGlobalSet, i) }
	setInner := func(i int) []byte { return seq(opUnreachable, set(i)) } // even where it never runs
	for name, g := range map[string]guest{
		"fuel":         {globals: own, funcs: []fn{{code: set(own)}}},
		"stack":        {globals: own, funcs: []fn{{code: set(own + 1)}}},
		"dead code":    {globals: own, funcs: []fn{{code: setInner(own)}}},
		"no globals":   {funcs: []fn{{code: set(0)}}},
		"fuel local":   {funcs: []fn{{code: seq(i64c(1<<40), opLocalSet, 0)}}},
		"size local":   {funcs: []fn{{params: "I", code: seq(i32c(1), opLocalSet, 2)}}},
		"exhausted":    {funcs: []fn{{code: seq(opBr, 1)}}},
		"in a table":   {funcs: []fn{{code: seq(i32c(0), 0x0e, 1, 0, 1)}}},
		"added type":   {funcs: []fn{{results: "ii", code: seq(opBlock, 1, opUnreachable, opEnd)}}},
		"a function":   {funcs: []fn{{code: seq(0x10, 1)}}},
		"function ref": {funcs: []fn{{code: seq(0xd2, 1, 0x1a)}}},
	} {
		if _, err := Rewrite(g.wasm(), DefaultLimits()); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v, want ErrMalformed", name, err)
		}
	}
}

func TestRewrite_PrivateExport_Refused(t *testing.T) {
	g := guest{funcs: []fn{{name: "penstock:fuel"}}}
	if _, err := Rewrite(g.wasm(), DefaultLimits()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error %v, want ErrUnsupported", err)
	}
}

func TestRewrite_Maxima_Hold(t *testing.T) {
	grow := seq(opLocalGet, 0, 0x40, 0)
	tables := seq(0xd0, typeFuncref, opLocalGet, 0, 0xfc, 15, 0)
	g := guest{memory: []byte{0, 1}, table: []byte{typeFuncref, 0, 1}, funcs: []fn{
		{name: "memory_grow", params: "i", results: "i", code: grow},
		{name: "table_grow", params: "i", results: "i", code: tables},
	}}
	l := instantiate(t, newRuntime(t), g.wasm())
	for _, c := range []struct {
		name string
		arg  uint64
		want int32
	}{
		{"memory_grow", 1023, 1}, {"memory_grow", 1, -1},
		{"table_grow", 65_535, 1}, {"table_grow", 1, -1},
	} {
		res, _, err := l.call(c.name, c.arg)
		if err != nil || int32(res[0]) != c.want {
			t.Errorf("%s(%d) = %v, %v; want %d", c.name, c.arg, res, err, c.want)
		}
	}
}

// What a memory may become is told. The module asks for as much as it wants, and the host refuses.
func TestRewrite_MemoryPages_AreTold(t *testing.T) {
	for _, c := range []struct {
		memory []byte
		pages  uint32
	}{
		{[]byte{0, 1}, 1024},
		{[]byte{1, 1, 20}, 20},
		{append([]byte{1, 1}, index(65_536)...), 1024},
		{nil, 0},
	} {
		m, err := Rewrite(guest{memory: c.memory, funcs: []fn{{name: "run", code: nil}}}.wasm(), DefaultLimits())
		if err != nil || m.MemoryPages != c.pages {
			t.Errorf("%v: %d pages, %v; want %d", c.memory, m.MemoryPages, err, c.pages)
		}
	}
}

func TestRewrite_Bulk_PaysForBytes(t *testing.T) {
	fill := seq(i32c(0), i32c(7), opLocalGet, 0, 0xfc, 11, 0)
	copying := seq(i32c(8), i32c(0), opLocalGet, 0, 0xfc, 10, 0, 0)
	initial := seq(i32c(0), i32c(0), opLocalGet, 0, 0xfc, 8, 0, 0)
	g := guest{memory: []byte{0, 20}, data: string(make([]byte, 4096)), funcs: []fn{
		{name: "fill", params: "i", code: fill}, {name: "copy", params: "i", code: copying}, {name: "init", params: "i", code: initial},
		{name: "grow", params: "i", results: "i", code: seq(opLocalGet, 0, 0x40, 0)},
	}}
	l := instantiate(t, newRuntime(t), g.wasm())
	for _, c := range []struct {
		name     string
		arg      uint64
		least    int64
		overhead int64
	}{{"fill", 1 << 20, 65_536, 32}, {"copy", 1 << 20, 65_536, 32}, {"init", 4096, 256, 32}, {"grow", 1, 4096, 300}} {
		_, used, err := l.call(c.name, c.arg)
		if err != nil || used < c.least || used > c.least+c.overhead {
			t.Errorf("%s(%d) used %d units (%v), want %d and at most %d more", c.name, c.arg, used, err, c.least, c.overhead)
		}
	}
	for _, name := range []string{"fill", "copy", "init", "grow"} {
		if _, _, err := l.call(name, 1<<32-1); err == nil || !errors.Is(l.meter.Err(), ErrFuel) {
			t.Errorf("%s(−1): error %v, fault %v; want ErrFuel", name, err, l.meter.Err())
		}
	}
}

func TestRewrite_Joins_NothingIsFree(t *testing.T) {
	// A branch over a call (which has its own charge) must not make the code
	// after it free: each round runs 1,000 nops.
	body := seq(opLoop, emptyBlock,
		opBlock, emptyBlock, i32c(1), opBrIf, 0, 0x10, 0, opEnd,
		repeat(1000, []byte{0x01}),
		opLocalGet, 0, i32c(1), 0x6b, opLocalTee, 0, opBrIf, 0, opEnd)
	g := guest{funcs: []fn{{name: "nothing"}, {name: "run", params: "i", code: body}}}
	l := instantiate(t, newRuntime(t), g.wasm())
	_, used, err := l.call("run", 100)
	if err != nil || used < 100_000 {
		t.Errorf("used %d units (%v), want at least 100,000", used, err)
	}
}

func TestRewrite_Names_AreKept(t *testing.T) {
	g := guest{funcs: []fn{{name: "boom", code: seq(opUnreachable)}}}
	names := appendSection(appendName(nil, "name"), 1, appendName([]byte{1, 0}, "my_function"))
	wasm := appendSection(g.wasm(), secCustom, names)
	wasm = appendSection(wasm, secCustom, appendName(nil, "producers"))
	l := instantiate(t, newRuntime(t), wasm)
	if _, _, err := l.call("boom"); err == nil || !strings.Contains(err.Error(), "my_function") || l.meter.Err() != nil {
		t.Errorf("error %v, fault %v; want a trap in my_function", err, l.meter.Err())
	}
}

func TestRewrite_Globals_Snapshot(t *testing.T) {
	g := guest{globals: 2, funcs: []fn{
		{name: "set", params: "i", code: seq(opLocalGet, 0, opGlobalSet, 1)},
		{name: "get", results: "i", code: seq(opGlobalGet, 1)},
	}}
	r := newRuntime(t)
	first, second := instantiate(t, r, g.wasm()), instantiate(t, r, g.wasm())
	if _, _, err := first.call("set", 42); err != nil {
		t.Fatal(err)
	}
	values, err := SaveGlobals(first, first.info.Globals)
	if err != nil {
		t.Fatal(err)
	}
	if err := LoadGlobals(second, second.info.Globals, values); err != nil {
		t.Fatal(err)
	}
	if res, _, err := second.call("get"); err != nil || res[0] != 42 {
		t.Errorf("get() = %v, %v; want 42", res, err)
	}
}

func TestRewrite_TableChange_IsImmovable(t *testing.T) {
	g := guest{table: []byte{typeFuncref, 0, 1}, funcs: []fn{{code: seq(i32c(0), 0xd0, typeFuncref, 0x26, 0)}}}
	if l := instantiate(t, newRuntime(t), g.wasm()); l.info.Immovable == "" {
		t.Error("a module that changes a table can be snapshotted")
	}
}

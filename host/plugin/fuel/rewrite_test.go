// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/penstock/penstock/tools/must"
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
		res, used := must.Both(l.call("sum", n))(t)
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
	must.Both(first.call("set", 42))(t)
	values := must.Get(SaveGlobals(first, first.info.Globals))(t)
	must.Do(t, LoadGlobals(second, second.info.Globals, values))
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

// Whatever of the rewriter changes, its version does.
func TestVersion_FollowsTheSource(t *testing.T) {
	of := func(name, text string) string {
		return versionOf(fstest.MapFS{"a.go": {Data: []byte("package fuel")}, name: {Data: []byte(text)}})
	}
	if of("b.go", "x") == of("b.go", "y") || of("b.go", "x") == of("c.go", "x") {
		t.Error("another source has the same version")
	}
	if of("b_test.go", "x") != of("b_test.go", "y") {
		t.Error("a test has a part in it")
	}
	if here := versionOf(os.DirFS(".")); Version() != here {
		t.Errorf("the version is %s, the source's is %s", Version(), here)
	}
}

func TestRewrite_BusyGuest_BehavesTheSame(t *testing.T) {
	ctx, r := context.Background(), newRuntime(t)
	wasm := busyGuest().wasm()
	plain, metered := plainInstance(t, r, wasm), instantiate(t, r, wasm)
	metered.hungry(3)
	must.Both(metered.call(StartExport))(t)
	for _, c := range []scenario{
		{"swap", []uint64{1, 2}}, {"run", []uint64{0}}, {"run", []uint64{1}}, {"run", []uint64{2}}, {"run", []uint64{100}}, {"init", nil},
	} {
		want, err := plain.ExportedFunction(c.name).Call(ctx, c.args...)
		got, _, err2 := metered.call(c.name, c.args...)
		if err != nil || err2 != nil || !slices.Equal(want, got) {
			t.Errorf("%s%v = %v, %v; the original says %v, %v", c.name, c.args, got, err2, want, err)
		}
	}
	a, _ := plain.Memory().Read(0, 1<<16)
	b, _ := metered.Memory().Read(0, 1<<16)
	if !slices.Equal(a, b) || plain.Memory().Size() != metered.Memory().Size() {
		t.Error("memories differ")
	}
}

// The frames that calls paid for are given back on every way out.
func TestRewrite_Stack_IsGivenBack(t *testing.T) {
	l := instantiate(t, newRuntime(t), guest{funcs: []fn{
		{name: "leaf", params: "i", results: "i", code: seq(opLocalGet, 0)},
		{name: "run", params: "i", results: "i", code: seq(
			opLocalGet, 0, opIf, emptyBlock, i32c(1), 0x10, 0, opReturn, opEnd,
			opBlock, emptyBlock, i32c(2), opLocalGet, 0, 0x45, opBrIf, 1, 0x1a, opEnd, i32c(3), 0x10, 0)},
	}}.wasm())
	for arg := range uint64(2) {
		must.Both(l.call("run", arg))(t)
		if left := int64(l.meter.stack.Get()); left != testStack {
			t.Errorf("run(%d) left %d bytes of stack, want %d", arg, left, testStack)
		}
	}
}

func TestMeter_Charge(t *testing.T) {
	l := instantiate(t, newRuntime(t), guest{}.wasm())
	l.meter.Fill(100, testStack, time.Now())
	for _, c := range []struct {
		units uint64
		ok    bool
		left  int64
	}{{0, true, 100}, {60, true, 40}, {40, true, 0}, {1, false, -1}, {0, false, -1}} {
		if ok := l.meter.Charge(c.units); ok != c.ok || l.meter.Left() != c.left {
			t.Errorf("Charge(%d) = %v with %d left, want %v with %d", c.units, ok, l.meter.Left(), c.ok, c.left)
		}
	}
	l.meter.Fill(100, testStack, time.Now())
	if l.meter.Charge(1 << 63) {
		t.Error("a charge of 2^63 units was paid")
	}
}

// program writes random structured code that always ends. It counts in a
// global how often its marks are passed, so that a test can compare what ran
// with what was paid.
type program struct {
	*rand.Rand
	labels []byte // opcodes of the open blocks
	calls  int    // functions below this index can be called
}

// mark is counted at run time; it has markCost instructions.
var mark = seq(opGlobalGet, 0, i32c(1), 0x6a, opGlobalSet, 0)

const markCost = 4

func (p *program) statements(depth int) []byte {
	var b []byte
	for range p.IntN(4) {
		b = append(b, p.statement(depth)...)
	}
	return b
}

func (p *program) statement(depth int) []byte {
	condition := seq(opGlobalGet, 0, i32c(int64(1+p.IntN(3))), 0x71) // bits of the count
	kind := p.IntN(10)
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0, 1:
		return mark
	case 2:
		return repeat(p.IntN(60), mark)
	case 3:
		if to, ok := p.target(); ok {
			return seq(condition, opBrIf, to)
		}
		return mark
	case 4:
		if p.calls > 0 {
			return seq(0x10, p.IntN(p.calls))
		}
		return mark
	case 5:
		return seq(opBlock, emptyBlock, p.within(opBlock, depth), opEnd)
	case 6:
		return seq(condition, opIf, emptyBlock, p.within(opIf, depth), 0x05, p.within(opIf, depth), opEnd)
	case 7:
		return seq(condition, opIf, emptyBlock, p.within(opIf, depth), opEnd)
	case 8: // a loop that counts down in the local of its depth
		return seq(i32c(int64(1+p.IntN(3))), opLocalSet, depth, opLoop, emptyBlock, p.within(opLoop, depth),
			opLocalGet, depth, i32c(1), 0x6b, opLocalTee, depth, opBrIf, 0, opEnd)
	default:
		to, ok := p.target()
		other, ok2 := p.target()
		if !ok || !ok2 {
			return seq(condition, opIf, emptyBlock, opReturn, opEnd)
		}
		return seq(condition, opIf, emptyBlock, condition, 0x0e, 1, to+1, other+1, opEnd)
	}
}

func (p *program) within(opcode byte, depth int) []byte {
	p.labels = append(p.labels, opcode)
	defer func() { p.labels = p.labels[:len(p.labels)-1] }()
	return p.statements(depth - 1)
}

// target picks an open block; jumping to a loop might never end.
func (p *program) target() (label int, ok bool) {
	if len(p.labels) == 0 {
		return 0, false
	}
	label = p.IntN(len(p.labels))
	return label, p.labels[len(p.labels)-1-label] != opLoop
}

func TestRewrite_RandomPrograms_PayForWhatRuns(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			slice := int64(0)
			if seed%2 == 0 {
				slice = int64(1 + seed/2)
			}
			if !mustPayForWhatRuns(t, rand.NewPCG(seed, 1), slice) {
				t.Error("it takes too long")
			}
		})
	}
}

// choices are what a program is made of: a byte decides one of them, and when all are used up the
// program ends soon.
type choices []byte

// Uint64 implements rand.Source. For a small number rand takes the lowest bits if it is a power of
// two, and else the upper ones.
func (c *choices) Uint64() uint64 {
	choice := byte(0)
	if len(*c) > 0 {
		choice, *c = (*c)[0], (*c)[1:]
	}
	return uint64(choice)<<56 | 1<<55 | 1<<32 | uint64(choice)
}

// FuzzRewrite_Programs is the test's comparison over programs that the fuzzer finds.
func FuzzRewrite_Programs(f *testing.F) {
	f.Add([]byte("\xff\xc0\xe0\xff\x40\x80\xff\xc0\x10\x90\x70"), uint16(3))
	f.Fuzz(func(t *testing.T, program []byte, slice uint16) {
		if len(program) <= 256 { // longer ones only take longer
			mustPayForWhatRuns(t, (*choices)(&program), int64(slice))
		}
	})
}

// mustPayForWhatRuns compares a random program as it is and metered, in slices of so many units;
// 0: as usual. It gives up on one that runs out of fuel, and is false then.
func mustPayForWhatRuns(t *testing.T, source rand.Source, slice int64) (ended bool) {
	t.Helper()
	p := &program{Rand: rand.New(source)}
	g := guest{globals: 1}
	for p.calls < 4 {
		code := p.statements(4)
		g.funcs = append(g.funcs, fn{name: fmt.Sprint("f", p.calls), locals: locals(5, "i32"), code: code})
		p.calls++
	}
	g.funcs = append(g.funcs, fn{name: "count", results: "i", code: seq(opGlobalGet, 0)})
	r := newRuntime(t)
	plain, metered := plainInstance(t, r, g.wasm()), instantiate(t, r, g.wasm())
	ctx := WithMeter(context.Background(), metered.meter)
	if slice > 0 {
		metered.hungry(slice)
	}
	before := int64(0)
	for i := range p.calls {
		name := fmt.Sprint("f", i)
		_, used, err := metered.call(name)
		if errors.Is(metered.meter.Err(), ErrFuel) {
			return false
		}
		_, err2 := plain.ExportedFunction(name).Call(ctx)
		if err != nil || err2 != nil {
			t.Fatalf("%s: %v, the original: %v", name, err, err2)
		}
		want := mustCall(t, ctx, plain.ExportedFunction("count"))[0]
		got := mustCall(t, ctx, metered.ExportedFunction("count"))[0]
		if want != got {
			t.Fatalf("%s passed %d marks, the original %d", name, got, want)
		}
		if ran := (int64(got) - before) * markCost; used < ran {
			t.Errorf("%s paid %d units for at least %d instructions", name, used, ran)
		}
		before = int64(got)
	}
	return true
}

// busyGuest has an instruction of most kinds, in places that run.
func busyGuest() guest {
	return guest{
		memory: []byte{1, 1, 4}, table: []byte{typeFuncref, 1, 2, 9}, globals: 2, elems: []byte{0, 1}, data: "some data", start: 3,
		funcs: []fn{
			{name: "swap", params: "iI", results: "Ii", code: seq(opLocalGet, 1, opLocalGet, 0)},
			{name: "run", params: "i", results: "i", locals: slices.Concat(locals(2, "i64"), locals(1, "v128")), code: seq(
				opBlock, emptyBlock, opBlock, emptyBlock, opBlock, emptyBlock,
				opLocalGet, 0, 0x0e, 2, 0, 1, 2, opEnd,
				i32c(0), i32c(0), i32c(9), 0xfc, 8, 0, 0, opEnd,
				opLoop, emptyBlock, opLocalGet, 0, i32c(-1), 0x6a, opLocalTee, 0, i32c(0), 0x4a, opBrIf, 0, opEnd, opEnd,
				opLocalGet, 0, opIf, typeI32, i32c(4), 0x05, i32c(5), opEnd,
				opGlobalGet, 1, 0x6a, opGlobalSet, 0,
				i32c(3), i64c(1<<40), i32c(0), 0x11, 0, 0, 0x1a, opLocalSet, 1,
				i32c(16), 0xfd, 0, 4, 0, 0xfd, 12, make([]byte, 16), 0xfd, 0xae, 1, opLocalTee, 3, 0xfd, 0x1b, 1,
				i32c(64), i32c(7), i32c(100), 0xfc, 11, 0,
				i32c(1), 0x40, 0, 0x6a, 0xd0, typeFuncref, i32c(2), 0xfc, 15, 0, 0x6a,
				opGlobalGet, 0, 0x6a)},
			{name: "init", code: seq(i32c(7), opGlobalSet, 1, opReturn)},
			{name: "sink", params: "fF", results: "r", code: seq(0x43, make([]byte, 4), 0x1a, 0xd2, 0)},
		},
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add(busyGuest().wasm())
	for _, c := range endless {
		if wasm := c.guest.wasm(); len(wasm) < 1000 { // larger ones take the fuzzer long to minimise
			f.Add(wasm)
		}
	}
	r := judge(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		_, err := Rewrite(wasm, DefaultLimits())
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrLimit) {
			t.Errorf("error of no kind: %v", err)
		}
		mustNotCrash(t, r, wasm)
	})
}

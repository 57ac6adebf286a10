// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

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

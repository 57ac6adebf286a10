// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

func index(i int) []byte { return appendU32(nil, uint32(i)) }

func locals(n uint32, t abi.Type) []asm.Locals { return []asm.Locals{{N: n, Type: t}} }

var forever = seq(opLoop, emptyBlock, opBr, 0, opEnd)

// endless are guests that stop only because a counter does. Each has the
// export "run".
var endless = map[string]struct {
	guest guest
	want  error
}{
	"loop":           {guest{funcs: []fn{{name: "run", code: forever}}}, ErrFuel},
	"loop of br_if":  {guest{funcs: []fn{{name: "run", code: seq(opLoop, emptyBlock, i32c(1), opBrIf, 0, opEnd)}}}, ErrFuel},
	"loop of tables": {guest{funcs: []fn{{name: "run", code: seq(opLoop, emptyBlock, i32c(9), 0x0e, 3, 0, 0, 0, 0, opEnd)}}}, ErrFuel},
	"loop in an else": {guest{funcs: []fn{{name: "run", code: seq(
		opLoop, emptyBlock, i32c(0), opIf, emptyBlock, opReturn, 0x05, opBr, 1, opEnd, opEnd)}}}, ErrFuel},
	"loop with results": {guest{funcs: []fn{{name: "run", results: "i", code: seq(
		i32c(0), opLoop, typeI32, opBr, 0, opEnd, 0x6a)}}}, ErrFuel},
	"two loops":      {guest{funcs: []fn{{name: "run", code: seq(opLoop, emptyBlock, opLoop, emptyBlock, opBr, 1, opEnd, opEnd)}}}, ErrFuel},
	"loop of a call": {guest{funcs: []fn{{code: nil}, {name: "run", code: seq(opLoop, emptyBlock, 0x10, 0, opBr, 0, opEnd)}}}, ErrFuel},
	"long body":      {guest{funcs: []fn{{name: "run", code: seq(opLoop, emptyBlock, repeat(100_000, []byte{0x01}), opBr, 0, opEnd)}}}, ErrFuel},
	"fills": {guest{memory: []byte{0, 16}, funcs: []fn{{name: "run", code: repeat(2_000,
		seq(i32c(0), i32c(1), i32c(1<<20), 0xfc, 11, 0))}}}, ErrFuel},
	"fill of 4 GiB":   {guest{memory: []byte{0, 1}, funcs: []fn{{name: "run", code: seq(i32c(0), i32c(1), i32c(-1), 0xfc, 11, 0)}}}, ErrFuel},
	"table.grow −1":   {guest{table: []byte{typeFuncref, 0, 1}, funcs: []fn{{name: "run", code: seq(0xd0, typeFuncref, i32c(-1), 0xfc, 15, 0, 0x1a)}}}, ErrFuel},
	"memory.grow −1":  {guest{memory: []byte{0, 1}, funcs: []fn{{name: "run", code: seq(i32c(-1), 0x40, 0, 0x1a)}}}, ErrFuel},
	"growing by none": {guest{memory: []byte{0, 1}, funcs: []fn{{name: "run", code: seq(opLoop, emptyBlock, i32c(0), 0x40, 0, 0x1a, opBr, 0, opEnd)}}}, ErrFuel},
	"recursion":       {guest{funcs: []fn{{name: "run", code: seq(0x10, 0)}}}, ErrStack},
	"recursion in turns": {guest{table: []byte{typeFuncref, 0, 2}, elems: []byte{0, 1}, funcs: []fn{
		{name: "run", code: seq(i32c(1), 0x11, 0, 0)}, {code: seq(i32c(0), 0x11, 0, 0)}}}, ErrStack},
	"recursion with locals": {guest{funcs: []fn{{name: "run", locals: locals(9_000, "i64"), code: seq(0x10, 0)}}}, ErrStack},
	"recursion with values": {guest{funcs: []fn{{name: "run", params: "i", code: seq(
		repeat(5_000, seq(opLocalGet, 0, 0x67)), opLocalGet, 0, 0x10, 0, repeat(5_000, []byte{0x1a}))}}}, ErrStack},
	"recursion after a return": {guest{funcs: []fn{{name: "run", code: seq(
		opBlock, emptyBlock, i32c(0), opBrIf, 0, 0x10, 0, opReturn, opEnd)}}}, ErrStack},
}

func TestHostile_Endless_IsEnded(t *testing.T) {
	for name, c := range endless {
		t.Run(name, func(t *testing.T) {
			l := instantiate(t, newRuntime(t), c.guest.wasm())
			args := make([]uint64, len(l.ExportedFunction("run").Definition().ParamTypes()))
			_, _, err := l.call("run", args...) // without the meter it would not come back, or hardly
			if err == nil || !errors.Is(l.meter.Err(), c.want) {
				t.Errorf("error %v, fault %v; want %v", err, l.meter.Err(), c.want)
			}
		})
	}
}

// With 1,000 units left an endless loop must be gone within 1 ms; the best of
// several tries is free of what else the machine does.
func TestHostile_Endless_StopsSoon(t *testing.T) {
	for name, c := range endless {
		t.Run(name, func(t *testing.T) {
			l := instantiate(t, newRuntime(t), c.guest.wasm())
			run := l.ExportedFunction("run")
			args := make([]uint64, len(run.Definition().ParamTypes()))
			best := time.Hour
			for range 20 {
				l.meter.Fill(1000, testStack, time.Now())
				start := time.Now()
				if _, err := run.Call(WithMeter(context.Background(), l.meter), args...); err == nil {
					t.Fatal("no error")
				}
				best = min(best, time.Since(start))
			}
			if best > time.Millisecond {
				t.Errorf("ran for %v with 1,000 units", best)
			}
		})
	}
}

func TestHostile_Module_IsRefused(t *testing.T) {
	nested := func(n int, open ...byte) []byte {
		return seq(repeat(n, open), repeat(n, []byte{opEnd}))
	}
	one := func(code []byte) guest { return guest{funcs: []fn{{code: code}}} }
	for name, c := range map[string]struct {
		guest guest
		want  error
	}{
		"deep blocks":         {one(nested(300_000, opBlock, emptyBlock)), ErrLimit},
		"deep loops":          {one(nested(5_000, opLoop, emptyBlock)), ErrLimit},
		"many branches":       {one(seq(repeat(50_000, seq(i32c(0), opBrIf, 0)))), ErrLimit},
		"wide table":          {one(seq(i32c(0), 0x0e, index(500_000), make([]byte, 500_001))), ErrLimit},
		"50,001 locals":       {guest{funcs: []fn{{locals: locals(50_001, "i32")}}}, ErrLimit},
		"locals past 32 bits": {guest{funcs: []fn{{locals: slices.Concat(locals(math.MaxUint32, "i32"), locals(49_000, "i32"))}}}, ErrLimit},
		"large body":          {one(make([]byte, 1<<20)), ErrLimit},
		"functions":           {guest{funcs: make([]fn, 60_000)}, ErrLimit},
		"16 MiB of functions": {guest{funcs: slices.Repeat([]fn{{code: repeat(500_000, []byte{0x01})}}, 34)}, ErrLimit},
		"memory":              {guest{memory: append([]byte{0}, index(1025)...)}, ErrLimit},
		"table":               {guest{table: append([]byte{typeFuncref, 0}, index(65_537)...)}, ErrLimit},
		"shared memory":       {guest{memory: []byte{3, 1, 1}}, ErrUnsupported},
		"tail call":           {one(seq(0x12, 0)), ErrUnsupported},
		"atomic":              {one(seq(0xfe, 0x03, 0x00)), ErrUnsupported},
		"relaxed vector":      {one(seq(0xfd, 0x80, 0x02)), ErrUnsupported},
		"long vector opcode":  {one(seq(0xfd, 0x8c, 0x80, 0x00)), ErrUnsupported},
		"exceptions":          {one(seq(0x08, 0)), ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			wasm := c.guest.wasm()
			_, err := Rewrite(wasm, DefaultLimits())
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// A function that takes too long to compile is named, if the module names it.
func TestHostile_MuchWork_NamesTheFunction(t *testing.T) {
	wasm := guest{funcs: []fn{{}, {code: repeat(50_000, seq(i32c(0), opBrIf, 0))}}}.wasm()
	named := appendSection(wasm, secCustom, appendSection(appendName(nil, "name"), 1, appendName([]byte{1, 1}, "net.lookup")))
	for _, c := range []struct {
		wasm []byte
		want string
	}{{wasm, "function 1 (a build with --debug names it): it has so many branches"}, {named, `function 1 ("net.lookup"): it has so many branches`}} {
		if _, err := Rewrite(c.wasm, DefaultLimits()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Any prefix of a module and any flipped bit must give an error or a module
// that wazero judges; nothing may panic.
func TestHostile_Damaged_NeverPanics(t *testing.T) {
	wasm, r := busyGuest().wasm(), judge(t)
	for n := range wasm {
		if _, err := Rewrite(wasm[:n], DefaultLimits()); err == nil && n > 8 {
			mustNotCrash(t, r, wasm[:n])
		}
	}
	for i := range wasm {
		for bit := range 8 {
			damaged := slices.Clone(wasm)
			damaged[i] ^= 1 << bit
			mustNotCrash(t, r, damaged)
		}
	}
}

// mustNotCrash rewrites, and compares what wazero thinks of the two.
func mustNotCrash(t *testing.T, r wazero.Runtime, wasm []byte) {
	t.Helper()
	info, err := Rewrite(wasm, DefaultLimits())
	if err != nil {
		return
	}
	metered := compiles(r, info.Wasm)
	if metered == nil {
		return
	}
	if plain := compiles(r, wasm); plain == nil {
		t.Errorf("valid module rewritten into an invalid one: %v\n%x", metered, wasm)
	}
}

// judge is a runtime that only validates: its interpreter compiles at once.
func judge(t testing.TB) wazero.Runtime {
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func compiles(r wazero.Runtime, wasm []byte) error {
	module, err := r.CompileModule(context.Background(), wasm)
	if err == nil {
		err = module.Close(context.Background())
	}
	return err
}

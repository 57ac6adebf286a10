// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestRewrite_BusyGuest_BehavesTheSame(t *testing.T) {
	ctx, r := context.Background(), newRuntime(t)
	wasm := busyGuest().wasm()
	plain, metered := plainInstance(t, r, wasm), instantiate(t, r, wasm)
	metered.hungry(3)
	if _, _, err := metered.call(StartExport); err != nil {
		t.Fatal(err)
	}
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
		if _, _, err := l.call("run", arg); err != nil {
			t.Fatal(err)
		}
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

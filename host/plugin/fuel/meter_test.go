// SPDX-License-Identifier: MIT

package fuel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// A guest comes back wherever a slice is used up, whatever it does meanwhile.
func TestMeter_Pause_ComesOften(t *testing.T) {
	large := guest{memory: []byte{1, 16, 16}, funcs: []fn{
		{name: "fill", code: seq(i32c(0), i32c(1), i32c(1<<20), 0xfc, 11, 0)},
		{name: "copy", code: seq(i32c(1), i32c(0), i32c(1<<20-1), 0xfc, 10, 0, 0)},
	}}.wasm()
	for name, c := range map[string]struct {
		wasm   []byte
		export string
		pauses int // at least
	}{
		"fill": {large, "fill", 7}, "copy": {large, "copy", 7},
		"loop":     {guest{funcs: []fn{{name: "run", code: forever}}}.wasm(), "run", testFuel / longestSlice},
		"straight": {guest{funcs: []fn{{name: "run", code: repeat(500_000, []byte{0x01})}}}.wasm(), "run", 500_000 / longestSlice},
		"calls":    {guest{funcs: []fn{{code: nil}, {name: "run", code: repeat(100_000, seq(0x10, 0))}}}.wasm(), "run", 200_000 / longestSlice},
	} {
		t.Run(name, func(t *testing.T) {
			l := instantiate(t, newRuntime(t), c.wasm)
			pauses := 0
			l.meter.Pause = func() error { pauses++; return nil }
			_, used, err := l.call(c.export)
			if pauses < c.pauses {
				t.Errorf("%d pauses in %d units (%v), want %d", pauses, used, err, c.pauses)
			}
		})
	}
}

func TestMeter_Pause_EndsTheCall(t *testing.T) {
	l := instantiate(t, newRuntime(t), guest{funcs: []fn{{name: "run", code: forever}}}.wasm())
	enough := errors.New("enough")
	l.meter.Pause = func() error { return enough }
	if _, _, err := l.call("run"); !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
}

// The total does not depend on the slices.
func TestMeter_Slices_AddUp(t *testing.T) {
	wasm := busyGuest().wasm()
	used := map[int64]bool{}
	for _, slice := range []int64{1, 7, 100, 5000, testFuel} {
		l := instantiate(t, newRuntime(t), wasm)
		ctx := WithMeter(context.Background(), l.meter)
		l.meter.Fill(testFuel, testStack, time.Now())
		l.meter.Pause = func() error { l.meter.slice = slice; return nil }
		l.meter.reserve, l.meter.slice = l.meter.Left(), slice
		l.meter.fuel.Set(0)
		mustCall(t, ctx, l.ExportedFunction("run"), 100)
		used[testFuel-l.meter.Left()] = true
		if left := int64(l.meter.stack.Get()); left != testStack {
			t.Errorf("slices of %d: %d bytes of stack left, want %d", slice, left, testStack)
		}
	}
	if len(used) != 1 {
		t.Errorf("totals differ: %v", used)
	}
}

// A slow guest gets shorter slices, a quick one longer.
func TestMeter_Slice_FitsTheTime(t *testing.T) {
	l := instantiate(t, newRuntime(t), guest{}.wasm())
	l.meter.sliceBegan = time.Now().Add(-time.Second)
	if l.meter.betweenSlices(); l.meter.slice != firstSlice/4 {
		t.Errorf("after a slow slice one of %d units", l.meter.slice)
	}
	for range 20 {
		l.meter.sliceBegan = time.Now().Add(time.Second)
		l.meter.betweenSlices()
	}
	if l.meter.slice != longestSlice {
		t.Errorf("after quick slices one of %d units", l.meter.slice)
	}
}

// Bulk operations in pieces do what they do at once, where they overlap and where they are out of
// bounds.
func TestRewrite_LargeBulk_BehavesTheSame(t *testing.T) {
	const size = 8 << 16
	wasm := guest{memory: []byte{1, 8, 8}, funcs: []fn{
		{name: "fill", params: "iii", code: seq(opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, 0xfc, 11, 0)},
		{name: "copy", params: "iii", code: seq(opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, 0xfc, 10, 0, 0)},
	}}.wasm()
	r := newRuntime(t)
	plain, metered := plainInstance(t, r, wasm), instantiate(t, r, wasm)
	ctx := WithMeter(context.Background(), metered.meter)
	random := rand.New(rand.NewPCG(1, 1))
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	plain.Memory().Write(0, content)
	metered.Memory().Write(0, content)
	for n := range 300 {
		args := []uint64{random.Uint64N(size), random.Uint64N(size), random.Uint64N(size)}
		if n%3 > 0 { // within bounds
			args[2] = random.Uint64N(size + 1 - max(args[0], args[1]))
		}
		if n%7 == 0 { // near each other
			args[1] = min(args[0]+random.Uint64N(64), size-1)
		}
		name := []string{"fill", "copy"}[n%2]
		metered.meter.Fill(testFuel, testStack, time.Now())
		_, err := plain.ExportedFunction(name).Call(ctx, args...)
		_, err2 := metered.ExportedFunction(name).Call(ctx, args...)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%s%v: %v; the original: %v", name, args, err2, err)
		}
		a, _ := plain.Memory().Read(0, size)
		b, _ := metered.Memory().Read(0, size)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s%v: memories differ", name, args)
		}
	}
}

// What a plugin pays is part of the ABI: it stays as it is.
func TestRewrite_Fuel_IsThatOfTheABI(t *testing.T) {
	l := instantiate(t, newRuntime(t), busyGuest().wasm())
	var got []int64
	for _, arg := range []uint64{0, 1, 2, 100} {
		_, used := must.Both(l.call("run", arg))(t)
		got = append(got, used)
	}
	if want := "[4693 4677 4669 4669]"; fmt.Sprint(got) != want {
		t.Errorf("paid %v, want %v", got, want)
	}
}

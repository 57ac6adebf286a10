// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

var prompt = []int32{100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}

func best(row []float32) int { return slices.Index(row, slices.Max(row)) }

func TestBackend_Truncate_GoesOnAsIfNeverThere(t *testing.T) {
	e := opened(t, Options{Slots: 2})
	b := e.Backend()
	feed(t, b, 0, 0, prompt...)
	want := feed(t, b, 1, 0, append(slices.Clone(prompt[:6]), 42)...)
	if got := b.Truncate(0, 6); got != 6 {
		t.Fatalf("kept %d, want 6", got)
	}
	got := feed(t, b, 0, 6, 42)
	if best(got) != best(want) {
		t.Errorf("best token %d, want %d", best(got), best(want))
	}
	for n, want := range map[int]int{100: 0, 0: 0, -1: 0} {
		feed(t, b, 0, b.Truncate(0, 0), prompt...)
		if got := b.Truncate(0, n); got != want {
			t.Errorf("truncate to %d kept %d, want %d", n, got, want)
		}
		feed(t, b, 0, 0, prompt...) // it was cleared
		b.Truncate(0, 0)
	}
	feed(t, b, 0, 0, prompt...)
	if got := b.Truncate(0, len(prompt)); got != len(prompt) {
		t.Errorf("truncate to all kept %d", got)
	}
}

func TestBackend_Share_WithoutCells(t *testing.T) {
	e := opened(t, Options{Slots: 2, CacheSequences: 4, ContextSize: 256, KVLayout: "shared"})
	b := e.Backend()
	long := slices.Repeat(prompt, 20) // 200 of 256 cells: a copy would not fit
	want := feed(t, b, 0, 0, append(slices.Clone(long), 7)...)
	b.Truncate(0, 200)
	for seq := int32(1); seq < 6; seq++ {
		if got := b.Share(0, seq, 200); got != 200 {
			t.Fatalf("sequence %d shares %d of 200", seq, got)
		}
		if got := feed(t, b, seq, 200, 7); best(got) != best(want) {
			t.Errorf("sequence %d goes on with %d, want %d", seq, best(got), best(want))
		}
	}
	b.Truncate(5, 0)
	for n, want := range map[int]int{0: 0, 300: 0, 50: 50} {
		if got := b.Share(0, 5, n); got != want {
			t.Errorf("shares %d of %d, want %d", got, n, want)
		}
		b.Truncate(5, 0)
	}
	if got := b.Share(0, 0, 10); got != 0 {
		t.Errorf("a sequence shares %d with itself", got)
	}
}

func TestBackend_Wait_NoCells(t *testing.T) {
	b := opened(t, Options{Slots: 2, ContextSize: 256, KVLayout: "shared"}).Backend()
	feed(t, b, 0, 0, slices.Repeat(prompt, 20)...)
	var batch scheduler.Batch
	for i := range int32(100) {
		batch.Add(5, i, 1, i == 99)
	}
	must.Do(t, b.Start(&batch))
	if err := b.Wait(); !errors.Is(err, scheduler.ErrNoCells) {
		t.Errorf("got %v, want ErrNoCells", err)
	}
}

func TestBackend_Start_TooMuch(t *testing.T) {
	b := opened(t, Options{Slots: 2, ContextSize: 256, Batch: 16}).Backend()
	var batch scheduler.Batch
	if err := b.Start(&batch); err == nil {
		t.Error("an empty batch was taken")
	}
	for i := range int32(17) {
		batch.Add(5, i, 0, false)
	}
	if err := b.Start(&batch); err == nil {
		t.Error("a batch of 17 was taken, the limit is 16")
	}
	batch.Reset()
	batch.Add(5, 0, 77, true)
	must.Do(t, b.Start(&batch))
	if err := b.Wait(); !errors.Is(err, native.ErrInvalid) {
		t.Errorf("a sequence outside: got %v, want ErrInvalid", err)
	}
}

// Drawn together or alone, a row gives the same token.
func TestBackend_SampleRows_ManyAsOne(t *testing.T) {
	const n = 8
	e := opened(t, Options{Slots: n})
	b := e.Backend()
	chains := func() []chain.Stage {
		out := make([]chain.Stage, n)
		for i := range out {
			p := sampling.Default()
			p.Seed = uint32(i)
			stages := must.Get(e.NewChain(p))(t)
			out[i] = stages[0]
			t.Cleanup(func() { _ = stages[0].Close() })
		}
		return out
	}
	alone, together := chains(), chains()
	for step := range int32(10) {
		var batch scheduler.Batch
		for s := range int32(n) {
			batch.Add(100+13*s+step, step, s, true)
		}
		pass(t, b, &batch)
		draws, want := make([]scheduler.Draw, n), make([]int32, n)
		for i := range draws {
			draws[i] = scheduler.Draw{Row: i, Stage: together[i]}
			one := []scheduler.Draw{{Row: i, Stage: alone[i]}}
			b.SampleRows(one)
			want[i] = one[0].Token
		}
		b.SampleRows(draws)
		got := make([]int32, n)
		for i, d := range draws {
			got[i] = d.Token
			if d.Err != nil {
				t.Fatal(d.Err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d (-alone +together):\n%s", step, diff)
		}
	}
	foreign := []scheduler.Draw{{Row: 0, Stage: nil}, {Row: 99, Stage: together[0]}}
	b.SampleRows(foreign)
	if foreign[0].Err == nil || foreign[1].Err == nil {
		t.Errorf("a foreign stage and an absent row: %v, %v", foreign[0].Err, foreign[1].Err)
	}
}

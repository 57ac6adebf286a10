// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/native/governor"
	"github.com/penstock/penstock/tools/must"
)

func TestContext_Decode_BadBatch(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 256, Batch: 8, Sequences: 2, Unified: true, Threads: 1})
	full := func() *Batch {
		var b Batch
		for i := range int32(8) {
			b.Add(5, i, 0, false)
		}
		return &b
	}
	change := func(f func(b *Batch)) *Batch {
		b := full()
		f(b)
		return b
	}
	for name, b := range map[string]*Batch{
		"empty":                 {},
		"too long":              change(func(b *Batch) { b.Add(5, 8, 0, false) }),
		"negative token":        change(func(b *Batch) { b.Tokens[3] = -1 }),
		"token past vocabulary": change(func(b *Batch) { b.Tokens[3] = 1536 }),
		"token at the extreme":  change(func(b *Batch) { b.Tokens[3] = -1 << 31 }),
		"negative position":     change(func(b *Batch) { b.Positions[0] = -1 }),
		"position past context": change(func(b *Batch) { b.Positions[0] = 256 }),
		"position at extreme":   change(func(b *Batch) { b.Positions[0] = 1<<31 - 1 }),
		"gap in positions":      change(func(b *Batch) { b.Positions[7] = 9 }),
		"starts late":           change(func(b *Batch) { b.Sequences[7], b.Positions[7] = 1, 0; b.Positions[6] = 100 }),
		"negative sequence":     change(func(b *Batch) { b.Sequences[0] = -1 }),
		"sequence past context": change(func(b *Batch) { b.Sequences[0] = 2 }),
		"unified sequence":      change(func(b *Batch) { b.Sequences[0] = 255 }),
		"sequence at extreme":   change(func(b *Batch) { b.Sequences[0] = 1 << 30 }),
		"too many rows":         change(func(b *Batch) { b.Outputs[0], b.Outputs[1], b.Outputs[2] = true, true, true }),
		"ragged columns":        change(func(b *Batch) { b.Outputs = b.Outputs[:7] }),
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.Decode(b); !errors.Is(err, ErrInvalid) {
				t.Fatalf("got %v, want ErrInvalid", err)
			}
			if c.Row(0) != nil {
				t.Error("there is a row after a failed pass")
			}
			if _, last, err := c.Range(0); err != nil || last != -1 {
				t.Errorf("the memory holds up to %d (%v)", last, err)
			}
		})
	}
	if err := c.Decode(full()); err != nil {
		t.Fatalf("a good batch after the bad ones: %v", err)
	}
}

func TestContext_Decode_NoCells(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 256, Sequences: 2, Unified: true, Threads: 1})
	var b Batch
	for i := range int32(200) {
		b.Add(5, i, 0, i == 199)
	}
	must.Do(t, c.Decode(&b))
	for i := range b.Sequences {
		b.Sequences[i] = 1
	}
	if err := c.Decode(&b); !errors.Is(err, ErrNoCells) {
		t.Fatalf("got %v, want ErrNoCells", err)
	}
	if _, last, _ := c.Range(1); last != -1 {
		t.Errorf("a pass without effect left positions up to %d", last)
	}
}

// An encoder outputs every token, whatever was asked for.
func TestContext_Decode_EncoderWithoutRoom(t *testing.T) {
	m := load(t, encoder(t), ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64, Batch: 8, UBatch: 8, Rows: 2, Threads: 1})
	var b Batch
	for i := range int32(3) {
		b.Add(i, i, 0, i == 2)
	}
	if err := c.Decode(&b); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

// Rows come in batch order and match a pass of one sequence alone.
func TestContext_Row_OneForEachOutput(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 512, Sequences: 4, Unified: true, Threads: 1})
	var b Batch
	for s := range int32(4) {
		for i := range int32(3) {
			b.Add(100+10*s+i, i, s, i == 2)
		}
	}
	must.Do(t, c.Decode(&b))
	if c.Rows() != 4 || c.Row(4) != nil || c.Row(-1) != nil {
		t.Fatalf("%d rows, want 4", c.Rows())
	}
	best := make([]int, 4)
	for s := range best {
		best[s] = argmax(c.Row(s))
	}
	for s := range int32(4) {
		alone := newContext(t, m, ContextOptions{Cells: 256, Threads: 1})
		var b Batch
		for i := range int32(3) {
			b.Add(100+10*s+i, i, 0, i == 2)
		}
		must.Do(t, alone.Decode(&b))
		if got := argmax(alone.Row(0)); got != best[s] {
			t.Errorf("sequence %d: best token %d alone, %d in a batch", s, got, best[s])
		}
	}
}

func argmax(row []float32) int { return slices.Index(row, slices.Max(row)) }

func TestContext_Decode_NoAllocation(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 1024, Threads: 1})
	var b Batch
	position := int32(0)
	got := testing.AllocsPerRun(50, func() {
		b.Reset()
		b.Add(5, position, 0, true)
		position++
		must.Do(t, c.Decode(&b))
		if c.Row(0) == nil {
			t.Fatal("no row")
		}
	})
	if got > 0 {
		t.Errorf("%v allocations a pass", got)
	}
}

func TestContext_Memory_Sequences(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 256, Sequences: 3, Unified: true, Threads: 1})
	last := func(seq int32) int {
		t.Helper()
		_, last, err := c.Range(seq)
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	var b Batch
	for i := range int32(10) {
		b.Add(5, i, 0, false)
	}
	must.Do(t, c.Decode(&b))
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(c.Share(0, 1, 6))
	do(c.Remove(0, 8, -1))
	state, err := c.SaveState(1)
	do(err)
	defer closing(t, state)
	if last(0) != 7 || last(1) != 5 || last(2) != -1 {
		t.Errorf("last positions %d, %d, %d; want 7, 5, -1", last(0), last(1), last(2))
	}
	do(c.Remove(0, -1, -1))
	if last(0) != -1 || last(1) != 5 {
		t.Errorf("after removing 0: %d, %d; want -1, 5", last(0), last(1))
	}
	do(c.Remove(1, -1, -1))
	if last(1) != -1 {
		t.Errorf("after removing 1: %d", last(1))
	}
	for _, seq := range []int32{-1, 3, 255, 1 << 30, -1 << 31} {
		for name, err := range map[string]error{
			"remove": c.Remove(seq, 0, 1), "share from": c.Share(seq, 0, 1), "share to": c.Share(0, seq, 1),
			"restore": c.RestoreState(seq, state, 1), "save": second(c.SaveState(seq)),
		} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s sequence %d: got %v, want ErrInvalid", name, seq, err)
			}
		}
	}
}

func TestContext_Memory_SeparateStreams(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 512, Sequences: 2, Threads: 1})
	var b Batch
	for i := range int32(100) {
		b.Add(100+i, i, 0, false)
	}
	must.Do(t, c.Decode(&b))
	if err := c.Share(0, 1, 60); err != nil || c.CopyTarget() != 1 {
		t.Errorf("sequence %d is being filled, want 1 (%v)", c.CopyTarget(), err)
	}
	for range 1000 { // each copies 64 KiB
		if c.ContinueCopy(0, false) {
			break
		}
	}
	if c.CopyTarget() != -1 {
		t.Errorf("sequence %d is still being filled", c.CopyTarget())
	}
	if _, last, err := c.Range(1); last != 59 || err != nil {
		t.Errorf("the last position is %d, want 59 (%v)", last, err)
	}
}

func TestNewContext_BadOptions(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	for name, o := range map[string]ContextOptions{
		"negative cells":         {Cells: -1},
		"absurd cells":           {Cells: 1 << 30},
		"too many sequences":     {Sequences: 257},
		"negative batch":         {Batch: -1},
		"absurd batch":           {Batch: 1 << 27},
		"too many threads":       {Threads: 100000},
		"unknown KV type":        {TypeK: "q3_k"},
		"unknown flash":          {FlashAttention: "maybe"},
		"quantised V, flash off": {TypeV: "q8_0", FlashAttention: "off"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := NewContext(m, o)
			if err == nil {
				closing(t, c)
				t.Fatal("no error")
			}
		})
	}
}

func TestContext_State_SavedAndRestored(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 512, Sequences: 2, Unified: true, Threads: 1})
	var b Batch
	for i := range int32(20) {
		b.Add(100+i, i, 0, false)
	}
	must.Do(t, c.Decode(&b))
	state := must.Get(c.SaveState(0))(t)
	if n := state.positions; n != 20 || state.Bytes() < 20 {
		t.Errorf("%d positions in %d bytes, want 20", n, state.Bytes())
	}
	next := func(seq int32) int {
		b.Reset()
		b.Add(7, 20, seq, true)
		must.Do(t, c.Decode(&b))
		return argmax(c.Row(0))
	}
	must.Do(t, c.RestoreState(1, state, 20))
	closing(t, state) // it is still needed
	if err := c.RestoreState(1, state, 20); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	c.FinishCopy()
	if a, b := next(0), next(1); a != b {
		t.Errorf("the restored sequence goes on with %d, the first with %d", b, a)
	}
}

func TestContext_Abort_EndsAPass(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 1024, Threads: 1})
	var b Batch
	for i := range int32(1000) {
		b.Add(5, i, 0, i == 999)
	}
	result := make(chan error)
	go func() { result <- c.Decode(&b) }()
	for {
		select {
		case err := <-result:
			if !errors.Is(err, ErrAborted) {
				t.Errorf("got %v, want ErrAborted", err)
			}
			return
		default:
			c.Abort()
		}
	}
}

// A model without a KV cache computes a batch in one piece; llama.cpp asserts that it fits.
func TestContext_Decode_EncoderModel(t *testing.T) {
	m := load(t, encoder(t), ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 512, Batch: 512, UBatch: 64, Sequences: 2, Rows: 64, Unified: true, Threads: 1})
	if l := c.Limits(); l.Memory || l.Batch != 64 {
		t.Errorf("%+v", l)
	}
	var b Batch
	for i := range int32(65) {
		b.Add(100+i, i, 0, false)
	}
	if err := c.Decode(&b); !errors.Is(err, ErrInvalid) {
		t.Errorf("65 tokens where 64 fit: got %v, want ErrInvalid", err)
	}
	if err := errors.Join(c.Remove(0, 1, 2), c.Remove(0, -1, -1)); err != nil {
		t.Errorf("memory of a model without: %v", err)
	}
	if err := c.Share(0, 1, 1); !errors.Is(err, ErrUnsupported) {
		t.Errorf("share: got %v, want ErrUnsupported", err)
	}
	if _, err := c.SaveState(0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("save: got %v, want ErrUnsupported", err)
	}
	if first, last, err := c.Range(0); first != -1 || last != -1 || err != nil {
		t.Errorf("holds %d to %d, %v", first, last, err)
	}
}

// TestContext_Decode_AnyThreads wants the same logits to the bit from any number of threads: the
// governor changes it while texts are written.
func TestContext_Decode_AnyThreads(t *testing.T) {
	const prompt, threads = 700, 4 // longer than what ggml's attention divides among threads
	m := loadBuiltIn(t, ModelOptions{})
	var want [][]float32
	for n := threads; n > 0; n-- {
		c := newContext(t, m, ContextOptions{Cells: 1024, Batch: 1024, Sequences: 1, Threads: threads})
		c.governor = governor.New(n)
		var got [][]float32
		for at := int32(0); at < prompt+3; {
			var b Batch
			b.Add(5+at%7, at, 0, at >= prompt)
			for at++; at < prompt; at++ {
				b.Add(5+at%7, at, 0, false)
			}
			must.Do(t, c.Decode(&b))
			if row := c.Row(0); row != nil {
				got = append(got, slices.Clone(row))
			}
		}
		if want == nil {
			want = got
		}
		if len(got) != 3 || !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
			t.Errorf("%d threads compute other logits than %d", n, threads)
		}
	}
}

// Cells go on the same wherever they went: into a state and back, or to another sequence, all or
// the first of them. So it is with each type of K and V, and with V the other way round, as
// without flash attention.
func TestContext_Cells_OfAllTypes(t *testing.T) {
	for name, o := range map[string]ContextOptions{
		"q8_0":           {TypeK: "q8_0", TypeV: "q8_0", FlashAttention: "on"},
		"K and V differ": {TypeK: "q4_0", TypeV: "q5_1", FlashAttention: "on"},
		"V turned":       {TypeK: "q8_0", TypeV: "bf16", FlashAttention: "off"},
		"f32 turned":     {TypeK: "f16", TypeV: "f32", FlashAttention: "off"},
	} {
		for _, o.Unified = range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/unified=%t", name, o.Unified), func(t *testing.T) { moveCells(t, builtIn, o, 90, 40) })
		}
	}
}

// With all cells of its window layers, a model can go back to any position. A state has those in
// the window alone, so it is restored as a whole.
func TestContext_Cells_FullWindow(t *testing.T) {
	for _, o := range []ContextOptions{{}, {TypeK: "bf16", TypeV: "f32", FlashAttention: "off"}} {
		for _, o.Unified = range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/unified=%t", o.TypeK, o.Unified), func(t *testing.T) {
				const n, part = 90, 40
				o.FullWindowCache = true
				c := moveCells(t, small(t, "cohere2"), o, n, n)
				must.Do(t, clearSequences(c, 3))
				fill(t, c, 0, part)
				fill(t, c, 1, n)
				must.Do(t, c.Remove(1, part, -1))
				if first, last, err := c.Range(1); first != 0 || last != part-1 {
					t.Errorf("the sequence that was cut has the positions %d to %d (%v)", first, last, err)
				}
				if e := relative(next(t, c, 1, part), next(t, c, 0, part)); e > 1e-2 {
					t.Errorf("a sequence that was cut goes on differently, by %.2g", e)
				}
			})
		}
	}
}

// fill computes n tokens of a sequence.
func fill(t *testing.T, c *Context, seq, n int32) {
	t.Helper()
	vocabulary := int32(c.Model().Info().Vocabulary)
	var b Batch
	for i := range n {
		b.Add(3+i*11%(vocabulary-3), i, seq, false)
	}
	decode(t, c, &b)
}

// moveCells shares, saves and restores a sequence of n positions, and then the first of them.
func moveCells(t *testing.T, path string, o ContextOptions, n, part int32) *Context {
	t.Helper()
	o.Cells, o.Sequences, o.Threads = 3*256, 3, 1
	c := newContext(t, load(t, path, ModelOptions{}), o)
	fill(t, c, 0, n)
	state := must.Get(c.SaveState(0))(t)
	c.FinishCopy()
	t.Cleanup(func() { closing(t, state) })
	for _, at := range []int32{n, part} {
		if err := c.Share(0, 1, int(at)); err != nil {
			t.Fatalf("sharing %d: %v", at, err)
		}
		c.FinishCopy()
		if err := c.RestoreState(2, state, int(at)); err != nil {
			t.Fatalf("restoring %d: %v", at, err)
		}
		c.FinishCopy()
		must.Do(t, c.Remove(0, int(at), -1))
		want := next(t, c, 0, at)
		for seq := int32(1); seq < 3; seq++ {
			if _, last, err := c.Range(seq); err != nil || last != int(at)-1 {
				t.Errorf("sequence %d ends at %d, want %d (%v)", seq, last, at-1, err)
			}
			// Other cells may mean another order of sums, in a shared buffer and where attention
			// is computed in plain steps.
			if e := relative(next(t, c, seq, at), want); e > 1e-5 || e > 0 && !o.Unified && o.FlashAttention != "off" {
				t.Errorf("sequence %d goes on differently from %d on, by %.2g", seq, at, e)
			}
			must.Do(t, c.Remove(seq, -1, -1))
		}
	}
	return c
}

// next are the logits of one more token in a sequence of n, which is then taken away again.
func next(t *testing.T, c *Context, seq, n int32) []float32 {
	t.Helper()
	row := logits(t, c, seq, n)
	must.Do(t, c.Remove(seq, int(n), -1))
	return row
}

// pieces finishes a copy and tells in how many pieces, of 64 KiB each.
func pieces(c *Context) (n int) {
	for n = 1; !c.ContinueCopy(0, true); n++ {
	}
	return n
}

// A sequence that has the beginning of another gets the rest of it, in either layout of the cells
// and however values lie in them: then it goes on to the bit as that one does. What it has already
// is not copied.
func TestContext_Share_AddsTheTail(t *testing.T) {
	const n, kept = 900, 890
	for name, o := range map[string]ContextOptions{
		"split": {}, "split, without flash attention": {FlashAttention: "off"}, "shared": {Unified: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.Cells, o.Sequences, o.Threads = 3*1024, 3, 1
			c := newContext(t, loadBuiltIn(t, ModelOptions{}), o)
			var b Batch
			extend := func(seq, from, to, first int32) {
				for i := from; i < to; i++ {
					b.Add(first+i%400, i, seq, false)
					if len(b.Tokens) == 256 || i == to-1 {
						decode(t, c, &b)
					}
				}
			}
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			extend(0, 0, n, 100)
			do(c.Share(0, 1, n))
			whole := pieces(c)
			for step := range int32(3) { // of a beam search: the other branch is dropped, and forked anew
				do(c.Remove(1, kept, -1))
				extend(1, kept, n+20, 30+step)
				extend(0, n+step, n+step+1, 100)
				do(c.Remove(1, kept, -1))
				do(c.Share(0, 1, int(n+step+1)))
				if tail := pieces(c); !o.Unified && (tail > 1 || whole < 3) {
					t.Errorf("step %d: the tail was copied in %d pieces, all of it in %d", step, tail, whole)
				}
				if _, last, err := c.Range(1); err != nil || last != int(n+step) {
					t.Fatalf("step %d: the last position is %d, want %d (%v)", step, last, n+step, err)
				}
				want, got := logits(t, c, 0, n+step+1), logits(t, c, 1, n+step+1)
				do(c.Remove(0, int(n+step+1), -1))
				if !o.Unified && !slices.Equal(got, want) {
					t.Errorf("step %d: the fork goes on differently", step)
				}
				if greedyOf(got) != greedyOf(want) {
					t.Errorf("step %d: the fork chooses another token", step)
				}
			}
		})
	}
}

// greedyOf is the most likely token.
func greedyOf(row []float32) int { return slices.Index(row, slices.Max(row)) }

// Where the cells that a sequence has are not where the shared ones come to lie, all of them are
// copied.
func TestContext_Share_CopiesAllWhereCellsMove(t *testing.T) {
	const n = 300
	c := prefilled(t, n)
	must.Do(t, c.Share(0, 1, 100))
	c.FinishCopy()
	if err := c.Remove(1, 0, 50); err != nil { // the others lie behind where they are to be
		t.Fatal(err)
	}
	must.Do(t, c.Share(0, 1, n))
	c.FinishCopy()
	if !slices.Equal(logits(t, c, 0, n), logits(t, c, 1, n)) {
		t.Error("the fork goes on differently")
	}
	if err := c.Share(0, 1, 10); !errors.Is(err, ErrInvalid) {
		t.Errorf("a sequence of 301 positions is to have 10: %v", err)
	}
}

// loadAdapter writes an adapter for the built-in model and loads it.
func loadAdapter(t testing.TB, m *Model, a synth.Adapter) *Adapter {
	t.Helper()
	a.Model = builtIn
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(a.Write(file), file.Close()))
	adapter := must.Get(LoadAdapter(m, path))(t)
	t.Cleanup(func() { closing(t, adapter) })
	return adapter
}

// rowOf computes a short text in an empty sequence and returns the logits of its last token.
func rowOf(t testing.TB, c *Context) []float32 {
	t.Helper()
	var b Batch
	for i, token := range []int32{5, 9, 200, 31} {
		b.Add(token, int32(i), 0, i == 3)
	}
	must.Do(t, c.Decode(&b))
	row := slices.Clone(c.Row(0))
	must.Do(t, c.Remove(0, -1, -1))
	return row
}

func setAdapters(t testing.TB, c *Context, adapters ...ScaledAdapter) {
	t.Helper()
	must.Do(t, c.SetAdapters(adapters))
}

func TestContext_SetAdapters_ChangeTheLogitsUntilOthersAreSet(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a, b := loadAdapter(t, m, synth.Adapter{Seed: 1}), loadAdapter(t, m, synth.Adapter{Seed: 2, Tensors: []string{"attn_output"}})
	none := rowOf(t, c)
	var rows [][]float32
	for _, set := range [][]ScaledAdapter{{{a, 1}}, {{b, 1}}, {{a, 0.5}}, {{a, 1}, {b, 1}}} {
		setAdapters(t, c, set...)
		row := rowOf(t, c)
		for _, other := range append(rows, none) {
			if slices.Equal(row, other) {
				t.Errorf("the logits with %v are those of another set", set)
			}
		}
		rows = append(rows, row)
	}
	for _, set := range [][]ScaledAdapter{{{a, 0}}, nil, {{a, 0}, {b, 0}}} {
		setAdapters(t, c, set...)
		if !slices.Equal(rowOf(t, c), none) {
			t.Errorf("with %v the logits are not those of the model alone", set)
		}
	}
	setAdapters(t, c, ScaledAdapter{a, 1})
	if !slices.Equal(rowOf(t, c), rows[0]) {
		t.Error("set again, an adapter gives other logits")
	}
}

func TestAdapter_Close_LeavesItToTheContextThatUsesIt(t *testing.T) {
	before := LiveObjects().Adapters
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a := loadAdapter(t, m, synth.Adapter{})
	setAdapters(t, c, ScaledAdapter{a, 1})
	want := rowOf(t, c)
	closing(t, a)
	if !slices.Equal(rowOf(t, c), want) {
		t.Error("an adapter that was closed while it is set gives other logits")
	}
	if err := c.SetAdapters([]ScaledAdapter{{a, 0.5}}); !errors.Is(err, ErrClosed) {
		t.Errorf("setting a closed adapter: %v", err)
	}
	setAdapters(t, c)
	if n := LiveObjects().Adapters; n != before {
		t.Errorf("%d adapters are left, %d were there before", n, before)
	}
}

// A context that is closed frees what it used.
func TestContext_CloseWithAdapters_FreesThem(t *testing.T) {
	before := LiveObjects().Adapters
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a := loadAdapter(t, m, synth.Adapter{})
	setAdapters(t, c, ScaledAdapter{a, 1})
	closing(t, a)
	closing(t, c)
	if n := LiveObjects().Adapters; n != before {
		t.Errorf("%d adapters are left, %d were there before", n, before)
	}
}

func TestContext_SetAdaptersOfAnotherModel_IsRefused(t *testing.T) {
	m, other := loadBuiltIn(t, ModelOptions{}), loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	if err := c.SetAdapters([]ScaledAdapter{{loadAdapter(t, other, synth.Adapter{}), 1}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an adapter of another model: %v", err)
	}
}

// Adapters are loaded and freed while passes run, which read the model's list of them when the set
// has changed.
func TestLoadAdapter_BesidePasses_IsSafe(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a := loadAdapter(t, m, synth.Adapter{})
	path := filepath.Join(t.TempDir(), "beside.gguf")
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(synth.Adapter{Model: builtIn, Seed: 9}.Write(file), file.Close()))
	done := make(chan error, 1)
	go func() {
		for range 20 {
			beside, err := LoadAdapter(m, path)
			if err == nil {
				err = beside.Close()
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	want := rowOf(t, c)
	for i := range 20 {
		setAdapters(t, c, ScaledAdapter{a, float32(i % 2)})
		if row := rowOf(t, c); i%2 == 0 && !slices.Equal(row, want) {
			t.Fatal("the logits changed")
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLoadAdapter_BadFile_IsAnError(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	for name, a := range map[string]synth.Adapter{
		"architecture": {Change: func(h *gguf.Header) { h.Set("general.architecture", gguf.NewString("qwen2")) }},
		"kind":         {Change: func(h *gguf.Header) { h.Set("general.type", gguf.NewString("model")) }},
		"tensor":       {Change: func(h *gguf.Header) { h.Tensors[0].Name = "elsewhere.lora_a" }},
	} {
		a.Model = builtIn
		path := filepath.Join(t.TempDir(), name+".gguf")
		file := must.Get(os.Create(path))(t)
		must.Do(t, errors.Join(a.Write(file), file.Close()))
		if _, err := LoadAdapter(m, path); !errors.Is(err, ErrFailed) {
			t.Errorf("a wrong %s: %v", name, err)
		}
	}
	if _, err := LoadAdapter(m, filepath.Join(t.TempDir(), "absent.gguf")); !errors.Is(err, ErrNotFound) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestContext_SetControlVector_ChangesTheLogitsUntilItIsTakenAway(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	none := rowOf(t, c)
	width := m.Info().Embedding
	values := make([]float32, 4*width)
	for i := range values {
		values[i] = float32(i%7) / 10
	}
	set := func(values []float32, first, last int) []float32 {
		t.Helper()
		must.Do(t, c.SetControlVector(values, first, last))
		return rowOf(t, c)
	}
	all, one := set(values, 1, 4), set(values, 2, 2)
	if slices.Equal(all, none) || slices.Equal(one, none) || slices.Equal(all, one) {
		t.Error("control vectors for all layers and for one give the same logits, or those of the model alone")
	}
	if !slices.Equal(set(nil, 0, 0), none) {
		t.Error("without a control vector the logits are not those of the model alone")
	}
}

// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// prefilled is a context of the built-in model whose sequence 0 has n tokens.
func prefilled(t *testing.T, n int32) *Context {
	c := newContext(t, loadBuiltIn(t, ModelOptions{}), ContextOptions{Cells: 3 * 1024, Sequences: 3, Threads: 1})
	var b Batch
	for i := range n {
		b.Add(100+i%400, i, 0, false)
		if len(b.Tokens) == 256 || i == n-1 {
			decode(t, c, &b)
		}
	}
	return c
}

func decode(t *testing.T, c *Context, b *Batch) {
	t.Helper()
	must.Do(t, c.Decode(b))
	b.Reset()
}

// logits are those of one more token in a sequence of n.
func logits(t *testing.T, c *Context, seq, n int32) []float32 {
	t.Helper()
	var b Batch
	b.Add(7, n, seq, true)
	must.Do(t, c.Decode(&b))
	return slices.Clone(c.Row(0))
}

// A sequence is saved while passes over another run, and is restored the same to the bit.
func TestContext_SaveState_BesidePasses(t *testing.T) {
	const n = 900
	c := prefilled(t, n)
	state := must.Get(c.SaveState(0))(t)
	var b Batch
	for i := int32(0); !c.ContinueCopy(0, false) && i < 1000; i++ {
		b.Add(200+i%50, i, 1, true)
		decode(t, c, &b)
	}
	if !c.ContinueCopy(0, false) {
		t.Error("a thousand passes later it is not saved")
	}
	must.Do(t, c.RestoreState(2, state, n))
	c.FinishCopy()
	closing(t, state)
	if !slices.Equal(logits(t, c, 0, n), logits(t, c, 2, n)) {
		t.Error("the restored sequence goes on differently")
	}
}

// A change of a sequence that is being saved waits for that; closing the state or the context
// meanwhile is harmless.
func TestContext_SaveState_IsCutShort(t *testing.T) {
	const n = 900
	c := prefilled(t, n)
	gone := must.Get(c.SaveState(0))(t)
	closing(t, gone)
	if !c.ContinueCopy(0, false) {
		t.Error("a closed state is still copied")
	}
	state := must.Get(c.SaveState(0))(t)
	want := logits(t, c, 0, n)
	must.Do(t, c.Remove(0, 10, -1))
	must.Do(t, c.RestoreState(1, state, n))
	c.FinishCopy()
	if !slices.Equal(want, logits(t, c, 1, n)) {
		t.Error("the restored sequence goes on differently")
	}
	last := must.Get(c.SaveState(1))(t)
	closing(t, c)
	closing(t, last)
	closing(t, state)
}

// A state that is filled with the contents of another equals it; other contents are refused.
func TestNewState_OfContents(t *testing.T) {
	const n = 100
	c := prefilled(t, n)
	saved := must.Get(c.SaveState(0))(t)
	c.FinishCopy()
	kept := saved.Keep()
	closing(t, saved)
	contents := kept.Contents()
	copied := func(size, positions int) *State {
		s := must.Get(NewState(size, positions))(t)
		t.Cleanup(func() { closing(t, s) })
		copy(s.Contents(), contents)
		return s
	}
	for name, s := range map[string]*State{
		"cut": copied(len(contents)-1, n), "a head only": copied(8, n), "empty": copied(0, n), "of other positions": copied(len(contents), n+1),
	} {
		if err := c.RestoreState(1, s, n); err == nil {
			t.Errorf("%s: restored", name)
		}
		c.FinishCopy()
		if _, last, err := c.Range(1); err != nil || last >= 0 {
			t.Errorf("%s: something was left up to %d, %v", name, last, err)
		}
	}
	must.Do(t, c.RestoreState(1, copied(len(contents), n), n))
	c.FinishCopy()
	closing(t, kept)
	if kept.Contents() != nil {
		t.Error("a closed state has contents")
	}
	if !slices.Equal(logits(t, c, 0, n), logits(t, c, 1, n)) {
		t.Error("the restored sequence goes on differently")
	}
	for _, size := range [][2]int{{-1, 1}, {1, 0}, {1, 1 << 31}} {
		if _, err := NewState(size[0], size[1]); err == nil {
			t.Errorf("a state of %v", size)
		}
	}
}

// readBy is a context of a small model whose sequence 0 has n tokens.
func readBy(t testing.TB, kind string, n int) *Context {
	t.Helper()
	c := contextOf(t, kind, 2)
	read(t, c, 0, n)
	return c
}

// contextOf is an empty context of a small model.
func contextOf(t testing.TB, kind string, sequences int) *Context {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind+".gguf")
	must.Do(t, synth.SmallFile(path, kind, 7))
	m := must.Get(LoadModel(t.Context(), path, ModelOptions{}))(t)
	c := must.Get(NewContext(m, ContextOptions{Cells: 512, UBatch: 32, Sequences: sequences, Threads: 1, Unified: true}))(t)
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// read computes the tokens of sequence 0 from one position to another and returns the logits after
// the last.
func read(t testing.TB, c *Context, from, to int) []float32 {
	t.Helper()
	var b Batch
	for i := from; i < to; i++ {
		b.Add(int32(20+i*7%200), int32(i), 0, i == to-1)
	}
	must.Do(t, c.Decode(&b))
	return slices.Clone(c.Row(0))
}

// A sequence that is cut to a checkpoint goes on to the same bits, however often, and whatever
// became of the memory of others.
func TestContext_RestoreCheckpoint(t *testing.T) {
	for _, kind := range []string{"mamba", "falcon-h1", "cohere2"} {
		t.Run(kind, func(t *testing.T) {
			const at, end = 60, 400 // the window of 256 cells moves on
			c := readBy(t, kind, at)
			checkpoint := must.Get(c.SaveCheckpoint(0, nil))(t)
			defer closing(t, checkpoint)
			want := read(t, c, at, at+1)
			read(t, c, at+1, end)
			later := must.Get(c.SaveCheckpoint(0, nil))(t)
			latest, err := c.SaveCheckpoint(0, later) // takes its memory
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, latest)
			for range 2 {
				must.Do(t, c.RestoreCheckpoint(0, checkpoint))
				if _, last, err := c.Range(0); err != nil || last != at-1 {
					t.Fatalf("it ends at %d, %v", last, err)
				}
				if got := read(t, c, at, at+1); !slices.Equal(got, want) {
					t.Error("it goes on differently")
				}
			}
		})
	}
}

// A spent checkpoint that somebody has kept, as one who saves it does, keeps its memory.
func TestContext_SaveCheckpoint_SpentButKept(t *testing.T) {
	c := readBy(t, "mamba", 60)
	spent := must.Get(c.SaveCheckpoint(0, nil))(t)
	kept := spent.Keep()
	defer closing(t, kept)
	want := slices.Clone(kept.Contents())
	read(t, c, 60, 100)
	next := must.Get(c.SaveCheckpoint(0, spent))(t)
	defer closing(t, next)
	if !slices.Equal(kept.Contents(), want) || slices.Equal(next.Contents(), want) {
		t.Error("the next checkpoint is in the memory of one that was kept")
	}
}

// An ordinary memory is cut without one.
func TestContext_SaveCheckpoint_OfOrdinaryCells(t *testing.T) {
	c := prefilled(t, 10)
	if s, err := c.SaveCheckpoint(0, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v, %v", s, err)
	}
}

// BenchmarkContext_SaveCheckpoint measures what a checkpoint costs: into new memory, and into that
// of a spent one.
func BenchmarkContext_SaveCheckpoint(b *testing.B) {
	for _, kind := range []string{"mamba", "falcon-h1", "cohere2"} {
		for _, reuse := range []bool{false, true} {
			name := kind + "/new"
			if reuse {
				name = kind + "/spent"
			}
			b.Run(name, func(b *testing.B) {
				c := readBy(b, kind, 300)
				var s *State
				for b.Loop() {
					last := s
					if !reuse && last != nil {
						_, last = last.Close(), nil
					}
					var err error
					if s, err = c.SaveCheckpoint(0, last); err != nil {
						b.Fatal(err)
					}
				}
				b.SetBytes(int64(s.Bytes()))
				_ = s.Close()
			})
		}
	}
}

// What is saved and restored between passes over other sequences is copied from and to where it
// was: a pass moves the states of recurrent layers, and others have their cells then.
func TestContext_RestoreState_BetweenPasses(t *testing.T) {
	const n = 40
	for _, kind := range []string{"mamba", "falcon-h1", "lfm2-dense"} {
		t.Run(kind, func(t *testing.T) {
			answers := func(restores bool) (rows [][]float32) {
				c := contextOf(t, kind, 4)
				pass := func(at int32, sequences ...int32) {
					var b Batch
					for _, seq := range sequences {
						b.Add(20+(at+13*seq)%100, at, seq, true)
					}
					must.Do(t, c.Decode(&b))
					for row := range sequences {
						rows = append(rows, slices.Clone(c.Row(row)))
					}
				}
				for at := range int32(n) {
					pass(at, 0, 1, 2)
				}
				if restores {
					saved := must.Get(c.SaveState(1))(t)
					defer closing(t, saved)
					c.FinishCopy()
					must.Do(t, errors.Join(c.Remove(1, -1, -1), c.RestoreState(3, saved, n)))
				}
				pass(n, 0, 2) // side by side, where the state of the third was between them
				c.FinishCopy()
				pass(n+1, 0, 2)
				if restores {
					must.Do(t, c.Share(3, 1, n))
				}
				pass(n, 1)
				return rows
			}
			want, got := answers(false), answers(true)
			for i := range want {
				for token := range want[i] { // cells of attention are summed in the order in which they lie
					if d := math.Abs(float64(got[i][token] - want[i][token])); d > 1e-3 {
						t.Fatalf("row %d of %d: a logit differs by %g", i, len(want), d)
					}
				}
			}
		})
	}
}

// SPDX-License-Identifier: MIT

package native

import (
	"slices"
	"testing"
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
	if err := c.Decode(b); err != nil {
		t.Fatal(err)
	}
	b.Reset()
}

// logits are those of one more token in a sequence of n.
func logits(t *testing.T, c *Context, seq, n int32) []float32 {
	t.Helper()
	var b Batch
	b.Add(7, n, seq, true)
	if err := c.Decode(&b); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(c.Row(0))
}

// A sequence is saved while passes over another run, and is restored the same to the bit.
func TestContext_SaveState_BesidePasses(t *testing.T) {
	const n = 900
	c := prefilled(t, n)
	state, err := c.SaveState(0)
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	for i := int32(0); !c.ContinueCopy(0, false) && i < 1000; i++ {
		b.Add(200+i%50, i, 1, true)
		decode(t, c, &b)
	}
	if !c.ContinueCopy(0, false) {
		t.Error("a thousand passes later it is not saved")
	}
	if err := c.RestoreState(2, state, n); err != nil {
		t.Fatal(err)
	}
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
	gone, err := c.SaveState(0)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, gone)
	if !c.ContinueCopy(0, false) {
		t.Error("a closed state is still copied")
	}
	state, err := c.SaveState(0)
	if err != nil {
		t.Fatal(err)
	}
	want := logits(t, c, 0, n)
	if err := c.Remove(0, 10, -1); err != nil {
		t.Fatal(err)
	}
	if err := c.RestoreState(1, state, n); err != nil {
		t.Fatal(err)
	}
	c.FinishCopy()
	if !slices.Equal(want, logits(t, c, 1, n)) {
		t.Error("the restored sequence goes on differently")
	}
	last, err := c.SaveState(1)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, c)
	closing(t, last)
	closing(t, state)
}

// A state that is filled with the contents of another equals it; other contents are refused.
func TestNewState_OfContents(t *testing.T) {
	const n = 100
	c := prefilled(t, n)
	saved, err := c.SaveState(0)
	if err != nil {
		t.Fatal(err)
	}
	c.FinishCopy()
	kept := saved.Keep()
	closing(t, saved)
	contents := kept.Contents()
	copied := func(size, positions int) *State {
		s, err := NewState(size, positions)
		if err != nil {
			t.Fatal(err)
		}
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
	if err := c.RestoreState(1, copied(len(contents), n), n); err != nil {
		t.Fatal(err)
	}
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

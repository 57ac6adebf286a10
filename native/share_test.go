// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"slices"
	"testing"
)

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
	if err := c.Share(0, 1, 100); err != nil {
		t.Fatal(err)
	}
	c.FinishCopy()
	if err := c.Remove(1, 0, 50); err != nil { // the others lie behind where they are to be
		t.Fatal(err)
	}
	if err := c.Share(0, 1, n); err != nil {
		t.Fatal(err)
	}
	c.FinishCopy()
	if !slices.Equal(logits(t, c, 0, n), logits(t, c, 1, n)) {
		t.Error("the fork goes on differently")
	}
	if err := c.Share(0, 1, 10); !errors.Is(err, ErrInvalid) {
		t.Errorf("a sequence of 301 positions is to have 10: %v", err)
	}
}

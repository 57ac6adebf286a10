// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

func TestPadder_Pad_FollowsOneAnother(t *testing.T) {
	for _, c := range []struct {
		sequences []int32 // decoded, in the scheduler's order
		full      int32   // a sequence without room; -1: none
		together  int
		want      []int32 // of the pass
	}{
		{[]int32{3}, -1, 4, []int32{3}},
		{[]int32{0, 1}, -1, 4, []int32{0, 1, 2, 3}},
		{[]int32{2, 0, 1, 3}, -1, 4, []int32{0, 1, 2, 3}},
		{[]int32{5, 1, 3}, -1, 4, []int32{1, 2, 3, 4, 5, 6, 7, 0}},
		{[]int32{0, 1, 3}, 2, 4, []int32{0, 1, 3}},
		{[]int32{0, 7}, -1, 4, []int32{0, 7}}, // six padding tokens for two rows do not pay
		{[]int32{6, 7}, -1, 4, []int32{4, 5, 6, 7}},
		{[]int32{0, 1}, -1, 1, []int32{0, 1}},
		{[]int32{5, 1, 3}, -1, 1, []int32{1, 2, 3, 4, 5}},
	} {
		t.Run(fmt.Sprint(c.sequences, c.together), func(t *testing.T) {
			var b scheduler.Batch
			for i, s := range c.sequences {
				b.Add(int32(100+i), int32(10+i), s, true)
			}
			p := padder{together: c.together}
			p.pad(&b, 8, 50, func(s int32) int {
				if s == c.full {
					return 50
				}
				return 20
			})
			slices.Sort(c.want)
			if !slices.Equal(p.batch.Sequences, c.want) {
				t.Fatalf("sequences %v, want %v", p.batch.Sequences, c.want)
			}
			var outputs []int32 // the sequences whose logits are wanted, in the order of the rows
			for i, out := range p.batch.Outputs {
				if out {
					outputs = append(outputs, p.batch.Sequences[i])
				}
			}
			for i, s := range c.sequences {
				if outputs[p.rows[i]] != s {
					t.Errorf("row %d is of sequence %d, want %d", i, outputs[p.rows[i]], s)
				}
			}
			if len(p.added) != len(c.want)-len(c.sequences) {
				t.Errorf("%d padding tokens", len(p.added))
			}
		})
	}
}

// TestBackend_Split_DecodesAsAlone: with cells of their own, padding between and sequences out of
// order, each sequence goes on as it would alone, also one that began as a copy of another.
func TestBackend_Split_DecodesAsAlone(t *testing.T) {
	e := opened(t, Options{Slots: 8, ContextSize: 8 * 256, KVLayout: "split"})
	b := e.Backend()
	if l := b.Limits(); l.Sequences != 8 || l.Context != 256 || !l.SeparatePasses {
		t.Fatalf("limits %+v", l)
	}
	want := map[int32][]int32{}
	for _, s := range []int32{6, 1, 4} {
		own := append(slices.Clone(prompt), 20+s)
		next := int32(best(feed(t, b, s, 0, own...)))
		for i := range 5 {
			want[s] = append(want[s], next)
			next = int32(best(feed(t, b, s, len(own)+i, next)))
		}
		b.Truncate(s, len(own))
	}
	if n := b.Share(4, 2, len(prompt)); n != len(prompt) {
		t.Fatalf("shares %d of %d", n, len(prompt))
	}
	copied := int32(best(feed(t, b, 2, len(prompt), 24)))
	if copied != want[4][0] {
		t.Errorf("the copy goes on with %d, want %d", copied, want[4][0])
	}
	for i := range 4 {
		var batch scheduler.Batch
		for _, s := range []int32{6, 1, 4} {
			batch.Add(want[s][i], int32(len(prompt)+1+i), s, true)
		}
		must.Do(t, b.Start(&batch))
		must.Do(t, b.Wait())
		for row, s := range []int32{6, 1, 4} {
			if got := int32(best(b.Row(row))); got != want[s][i+1] {
				t.Errorf("step %d of sequence %d: %d, alone %d", i, s, got, want[s][i+1])
			}
		}
	}
}

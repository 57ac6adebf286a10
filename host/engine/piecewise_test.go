// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

func TestPiecewise_End_CutsWhatDoesNotGoTogether(t *testing.T) {
	var b scheduler.Batch
	b.Add(1, 7, 0, true) // one decodes, one has the end of its prompt in the pass, one the middle, one decodes
	b.Add(2, 0, 3, false)
	b.Add(3, 1, 3, false)
	b.Add(4, 2, 3, true)
	b.Add(5, 4, 1, false)
	b.Add(6, 5, 1, false)
	b.Add(7, 9, 2, true)
	for name, c := range map[string]struct {
		passes piecewise
		want   []int // where passes end
	}{
		"sequences":             {piecewise{bySequence: true}, []int{1, 4, 6, 7}},
		"outputs":               {piecewise{byOutput: true}, []int{1, 3, 4, 6, 7}},
		"sequences and outputs": {piecewise{bySequence: true, byOutput: true}, []int{1, 3, 4, 6, 7}},
	} {
		var got []int
		for from := 0; from < b.Len(); {
			from = c.passes.end(&b, from)
			got = append(got, from)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A model that must be asked piece by piece answers as one that need not.
func TestScheduler_ModelThatLacks_SameText(t *testing.T) {
	var want [][]step
	t.Run("nothing", func(t *testing.T) { want = busyTexts(t, Options{Slots: 4}) }) // it has freed everything when the others count
	for name, o := range map[string]Options{
		"together":             {Lacks: Lacks{Together: true}},
		"selecting":            {Lacks: Lacks{Selecting: true}},
		"both":                 {Lacks: Lacks{Together: true, Selecting: true}},
		"all, in shared cells": {Lacks: Lacks{true, true, true, true, true, false}, KVLayout: "shared", CacheSequences: 2},
	} {
		o.Slots = 4
		t.Run(name, func(t *testing.T) {
			for i, got := range busyTexts(t, o) {
				for k := range min(len(got), len(want[i])) {
					if got[k].token == want[i][k].token {
						continue
					}
					if want[i][k].gap > near["shared"] {
						t.Errorf("request %d: token %d is %d, want %d with %.3f to the next best", i, k, got[k].token, want[i][k].token, want[i][k].gap)
					}
					break
				}
				if len(got) == 0 {
					t.Errorf("request %d has no answer", i)
				}
			}
		})
	}
}

// busyTexts answers more requests at once than there are slots, with common beginnings.
func busyTexts(t *testing.T, o Options) (texts [][]step) {
	t.Helper()
	e := opened(t, o)
	s, stop := scheduled(t, e, o.Slots)
	defer stop()
	var streams []*scheduler.Stream
	for i := range 10 {
		text := "<|im_start|>user\nHello! How are you today? I hope that you are well and that you slept enough last night.<|im_end|>\n"
		streams = append(streams, submit(t, e, s, fmt.Sprintf("%s<|im_start|>user\nTell me story %d.<|im_end|>\n<|im_start|>assistant\n", text, i), 20))
	}
	for _, st := range streams {
		texts = append(texts, collect(t, st))
	}
	return texts
}

func TestBackend_ModelThatLacks_IsNotAsked(t *testing.T) {
	b := opened(t, Options{Slots: 2, CacheSequences: 2, KVLayout: "shared", Lacks: Lacks{Truncating: true, Sharing: true, Saving: true}}).Backend()
	feed(t, b, 0, 0, prompt...)
	if n := b.Share(0, 1, len(prompt)); n != 0 {
		t.Errorf("%d shared", n)
	}
	if _, err := b.(kvcache.StateMemory).SaveState(0); err == nil {
		t.Error("the state was saved")
	}
	if n := b.Truncate(0, len(prompt)); n != len(prompt) {
		t.Errorf("cut at its end, %d positions are left", n)
	}
	if n := b.Truncate(0, 5); n != 0 {
		t.Errorf("cut to %d", n)
	}
}

func TestBackend_Piecewise_RowsInOrder(t *testing.T) {
	together, alone := opened(t, Options{Slots: 3}).Backend(), opened(t, Options{Slots: 3, Lacks: Lacks{Together: true}}).Backend()
	var batch scheduler.Batch
	for seq := range int32(3) {
		for at := range seq + 2 {
			batch.Add(prompt[at+seq], at, seq, at == seq+1)
		}
	}
	pass(t, together, &batch)
	pass(t, alone, &batch)
	for i := range 3 {
		if best(together.Row(i)) != best(alone.Row(i)) {
			t.Errorf("row %d is another", i)
		}
	}
	if alone.Row(3) != nil || alone.Row(-1) != nil {
		t.Error("a row that nobody asked for")
	}
}

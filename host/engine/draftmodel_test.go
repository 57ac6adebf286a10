// SPDX-License-Identifier: MIT

package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/draft"
)

// drafting is a draft model that drafts for another.
func drafting(t *testing.T, target *Engine, path string, slots int) *DraftModel {
	t.Helper()
	small, err := Open(t.Context(), Options{Path: path, Slots: slots, Threads: 1, ContextSize: target.Info().Limits.Cells, KVLayout: "split"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDraftModel(target, small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// A model that drafts for itself is nearly always right, and another one hardly ever: the text is
// the same with both, and without.
func TestDraftModel_Draft_SameGreedyText(t *testing.T) {
	greedy := sampling.Default()
	greedy.Temperature = 0
	window, other := smallModel(t, "cohere2"), smallModel(t, "embedder")
	for name, c := range map[string]struct {
		target, small string
		right         float64 // at least this part of its tokens
	}{"its own": {window, window, 0.8}, "another": {window, other, 0}, "its own, the built-in one": {builtIn, builtIn, 0.8}, "recurrent": {other, smallModel(t, "mamba"), 0}} {
		t.Run(name, func(t *testing.T) {
			e := openedFile(t, Options{Path: c.target, Slots: 4, DraftRows: 16, ContextSize: 4 * 256, KVLayout: "split"})
			prompts := randomPrompts(12, e.Info().Vocabulary)
			want, _, _ := answersOf(t, e, nil, 4, prompts, greedy, 40)
			got, drafted, accepted := answersOf(t, e, confident{drafting(t, e, c.small, 4)}, 4, prompts, greedy, 40)
			if drafted == 0 || float64(accepted) < c.right*float64(drafted) {
				t.Errorf("%d of %d drafted tokens are accepted", accepted, drafted)
			}
			for i := range prompts {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("prompt %d: %v, without %v", i, got[i], want[i])
				}
			}
		})
	}
}

// A call ends when its time is over: a long context is computed in parts, and a draft is shorter.
func TestDraftModel_Draft_EndsInTime(t *testing.T) {
	target := openedFile(t, Options{Path: builtIn, Slots: 1, ContextSize: 256})
	d := drafting(t, target, builtIn, 1)
	a := &draft.Ask{Context: tokens(t, target, strings.Repeat("Once upon a time there was a frog. ", 5)), Most: 6, Within: -1}
	calls := 0
	for ; len(a.Draft) == 0; calls++ {
		d.Draft([]*draft.Ask{a})
	}
	if want := len(a.Context) - firstCatchUp + 1; calls != want || len(a.Draft) != 1 {
		t.Errorf("without time: %d tokens drafted after %d calls, want 1 after %d", len(a.Draft), calls, want)
	}
	a.Within = time.Hour
	if d.Draft([]*draft.Ask{a}); len(a.Draft) < 2 {
		t.Errorf("with time: %d tokens drafted", len(a.Draft))
	}
}

// A draft model with other tokens is refused.
func TestNewDraftModel_OtherTokens(t *testing.T) {
	target, small := openedFile(t, Options{Path: builtIn, Slots: 1}), openedFile(t, Options{Path: smallModel(t, "cohere2"), Slots: 1})
	if _, err := NewDraftModel(target, small); err == nil || !strings.Contains(err.Error(), "vocabulary has 256 tokens") {
		t.Errorf("%v", err)
	}
}

// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// story is n tokens that differ with the seed.
func story(n int, seed int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = 100 + (int32(i)*7+seed*131)%1200
	}
	return out
}

// keepState saves a sequence and returns what puts it back into another.
func keepState(t *testing.T, b scheduler.Backend, seq int32) (restore func(into int32)) {
	t.Helper()
	states := b.(kvcache.StateMemory)
	saved := must.Get(states.SaveState(seq))(t)
	t.Cleanup(func() { _ = saved.Close() })
	return func(into int32) {
		t.Helper()
		must.Do(t, states.RestoreState(into, saved, saved.(state).positions))
	}
}

// A prefix that was shared is the one the source had then, whatever becomes of either sequence
// before the next pass.
func TestBackend_Share_IsOfThatMoment(t *testing.T) {
	const n = 96
	for name, between := range map[string]func(t *testing.T, b scheduler.Backend, other func(into int32)) int32{
		"nothing":         func(*testing.T, scheduler.Backend, func(int32)) int32 { return 1 },
		"source cut":      func(_ *testing.T, b scheduler.Backend, _ func(int32)) int32 { b.Truncate(0, 5); return 1 },
		"source restored": func(_ *testing.T, b scheduler.Backend, other func(int32)) int32 { b.Truncate(0, 0); other(0); return 1 },
		"target saved":    func(t *testing.T, b scheduler.Backend, _ func(int32)) int32 { keepState(t, b, 1)(3); return 3 },
		"shared on":       func(_ *testing.T, b scheduler.Backend, _ func(int32)) int32 { b.Share(1, 3, n); return 3 },
		"shared on, then cut": func(_ *testing.T, b scheduler.Backend, other func(int32)) int32 {
			b.Share(1, 3, n)
			b.Truncate(1, 0)
			other(1)
			return 3
		},
		"target of another": func(_ *testing.T, b scheduler.Backend, _ func(int32)) int32 {
			b.Truncate(1, 0)
			b.Share(2, 1, n)
			b.Truncate(1, 0)
			b.Share(0, 1, n)
			return 1
		},
	} {
		for _, layout := range []string{"split", "shared", "split, values the other way round"} {
			t.Run(name+"/"+layout, func(t *testing.T) {
				kind, turned, _ := strings.Cut(layout, ", ")
				flash := map[string]string{"": "on"}[turned]
				b := opened(t, Options{Slots: 4, KVLayout: kind, ContextSize: 2048, Context: native.ContextOptions{FlashAttention: cmp.Or(flash, "off")}}).Backend()
				feed(t, b, 0, 0, story(50, 1)...)
				feed(t, b, 0, 50, story(30, 5)...)
				b.Truncate(0, 50)
				feed(t, b, 0, 50, story(n+30, 1)[50:]...)
				feed(t, b, 2, 0, story(n+60, 2)...)
				other := keepState(t, b, 2)
				feed(t, b, 3, 0, story(n, 1)...)
				want := feed(t, b, 3, n, 7) // in a pass of its own, as below: others round differently
				b.Truncate(3, 0)
				if got := b.Share(0, 1, n); got != n {
					t.Fatalf("shared %d of %d", got, n)
				}
				seq := between(t, b, other)
				if got := feed(t, b, seq, n, 7); far(got, want) {
					t.Errorf("what comes after the prefix is %v from what it was", distance(got, want))
				}
			})
		}
	}
}

// A state that was restored is not overwritten by what was shared into the sequence before.
func TestBackend_Restore_AfterShareIntoTheSame(t *testing.T) {
	const n = 96
	b := opened(t, Options{Slots: 4, KVLayout: "split", ContextSize: 2048}).Backend()
	feed(t, b, 0, 0, story(n, 1)...)
	feed(t, b, 2, 0, story(n, 2)...)
	other := keepState(t, b, 2)
	want := feed(t, b, 3, 0, append(story(n, 2), 7)...)
	b.Share(0, 1, n)
	b.Truncate(1, 0)
	other(1)
	if got := feed(t, b, 1, n, 7); far(got, want) {
		t.Errorf("what comes after the state is %v from what it was", distance(got, want))
	}
}

// far tells whether two rows differ by more than the order of additions explains.
func far(a, b []float32) bool {
	return distance(a, b) > 0.02
}

func distance(a, b []float32) (most float32) {
	for i := range a {
		most = max(most, a[i]-b[i], b[i]-a[i])
	}
	return most
}

// A part of a state is the beginning of the conversation, also where its cells do not lie in a row.
func TestBackend_Restore_Part(t *testing.T) {
	const n = 40
	for _, layout := range []string{"split", "shared"} {
		for _, flash := range []string{"on", "off"} { // off: values lie the other way round
			t.Run(layout+" "+flash, func(t *testing.T) {
				b := opened(t, Options{Slots: 4, KVLayout: layout, ContextSize: 2048, Context: native.ContextOptions{FlashAttention: flash}}).Backend()
				for i := range int32(6) { // cells of two sequences in turn, where they share them
					feed(t, b, 0, int(i)*16, story(96, 1)[i*16:(i+1)*16]...)
					feed(t, b, 1, int(i)*16, story(96, 2)[i*16:(i+1)*16]...)
				}
				feed(t, b, 2, 0, story(n, 1)...)
				want := feed(t, b, 2, n, 7) // in a pass of its own, as below: others round differently
				b.Truncate(2, 0)
				states := b.(kvcache.StateMemory)
				state := must.Get(states.SaveState(0))(t)
				defer state.Close()
				b.Truncate(0, 0)
				feed(t, b, 0, 0, story(70, 3)...)
				for _, wrong := range []int{-1, 0, 97} {
					if err := states.RestoreState(3, state, wrong); err == nil {
						t.Errorf("%d positions of a state of 96 were restored", wrong)
					}
				}
				must.Do(t, states.RestoreState(3, state, n))
				for !b.ContinueCopy(0, false) {
					feed(t, b, 1, 96, 7) // beside it
					b.Truncate(1, 96)
				}
				if got := feed(t, b, 3, n, 7); far(got, want) {
					t.Errorf("what comes after is %v from what it was", distance(got, want))
				}
			})
		}
	}
}

// Where a sliding window has moved on, a part of a state is not the beginning of the conversation.
func TestBackend_Restore_PartOfAWindow(t *testing.T) {
	b := opened(t, Options{Slots: 2}).backend
	feed(t, b, 0, 0, story(40, 1)...)
	state := must.Get(b.SaveState(0))(t)
	defer state.Close()
	for window, want := range map[int]bool{0: true, 41: true, 40: false, 39: false} {
		b.window = window
		b.Truncate(1, 0)
		if err := b.RestoreState(1, state, 30); (err == nil) != want {
			t.Errorf("30 of 40 positions with a window of %d: %v", window, err)
		}
		b.Truncate(1, 0)
		if err := b.RestoreState(1, state, 40); err != nil {
			t.Errorf("all with a window of %d: %v", window, err)
		}
	}
	b.window = 0
}

// A conversation that just fills the window comes back as a shorter or a longer one does, though
// its first cell was free for others while it was copied. It is cut only where that cell does not
// matter, and so is what shares it or is saved of it.
func TestBackend_Restore_AsLongAsTheWindow(t *testing.T) {
	const window = 16
	for _, n := range []int{window - 1, window, window + 1, 2 * window} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := openedSmall(t, "cohere2", Options{Slots: 4, CacheSequences: 6, ContextSize: 1500, UBatch: 32}).backend
			if b.window != window {
				t.Fatalf("a window of %d", b.window)
			}
			text := letters(n+5, 1)
			next := func(n int) []float32 { // what the model says after so many tokens of the text and another
				defer b.Truncate(5, 0)
				return feed(t, b, 5, 0, append(slices.Clone(text[:n]), 7)...)
			}
			want := map[int][]float32{}
			for at := n - 3; at <= n+5; at++ {
				want[at] = next(at)
			}
			feed(t, b, 0, 0, text[:n]...)
			state := must.Get(b.SaveState(0))(t)
			defer state.Close()
			feed(t, b, 1, 0, letters(400, 3)...) // it takes all cells that are free for it
			b.ContinueCopy(-1, true)
			b.Truncate(0, 0)
			restore := func() {
				b.Truncate(2, 0)
				must.Do(t, b.RestoreState(2, state, n))
			}
			check := func(seq int32, at int) {
				t.Helper()
				if got := feed(t, b, seq, at, 7); far(got, want[at]) {
					t.Errorf("after %d tokens it is %v from what it should be", at, distance(got, want[at]))
				}
				b.Truncate(seq, 0)
			}
			restore()
			check(2, n)
			for at := n - 3; at < n; at++ { // cut at once
				restore()
				kept := b.Truncate(2, at)
				if (kept == at) != (n < window) {
					t.Errorf("cut to %d at once it has %d", at, kept)
				}
				if kept == at {
					check(2, at)
				}
			}
			for at := n - 3; at <= n+5; at++ { // after it has gone on, in another that shares it, and in one restored from that
				restore()
				feed(t, b, 2, n, text[n:]...)
				b.Truncate(3, 0)
				if b.Share(2, 3, n+5) == 0 {
					t.Fatal("it is not shared")
				}
				again := must.Get(b.SaveState(3))(t)
				b.ContinueCopy(-1, true)
				b.Truncate(4, 0)
				must.Do(t, b.RestoreState(4, again, n+5))
				for seq := int32(2); seq <= 4; seq++ {
					kept := b.Truncate(seq, at)
					if kept == at && at < n && n >= window {
						t.Errorf("sequence %d is cut to %d", seq, at)
					}
					if kept == at {
						check(seq, at)
					}
				}
				if err := again.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Equal prompts at once, as those of a request with n answers: computed once, and each answer is
// the one it has alone.
func TestScheduler_EqualPromptsAtOnce_SameTextAsAlone(t *testing.T) {
	for _, layout := range []string{"split", "shared"} {
		t.Run(layout, func(t *testing.T) {
			e := opened(t, Options{Slots: 4, KVLayout: layout, ContextSize: 2048, Batch: 64})
			s := must.Get(scheduler.New(e.Backend(), scheduler.Config{Slots: 4}))(t)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); _ = s.Run(ctx) }()
			want := collect(t, submitTokens(t, e, s, story(150, 1), 20))
			other := collect(t, submitTokens(t, e, s, story(300, 2), 20)) // and its cells go to others
			var streams []*scheduler.Stream
			for range 4 {
				streams = append(streams, submitTokens(t, e, s, story(300, 2), 20), submitTokens(t, e, s, story(150, 1), 20))
			}
			for i, st := range streams {
				sameUntilNear(t, layout, i, collect(t, st), [][]step{other, want}[i%2])
			}
			stop()
			<-done
		})
	}
}

// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/background"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// A program gets its slots all at once or waits. Others may overtake it for ten seconds, then
// nobody, and nobody waits for it once it is served.
func TestProgram_Admission_IsAllOrNothing(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 3}, func(b bubble) {
		var long []*scheduler.Stream
		for seed := range 2 {
			r := request(10, 1+seed, 1400)
			r.Buffer = 2000 // nobody reads it, and it is not parked for that
			long = append(long, submit(t, b.Scheduler, r))
		}
		time.Sleep(time.Second)
		st := submit(t, b.Scheduler, written(10, 3, 3, greedily(3)))
		began := time.Now()
		overtook := 0
		for time.Since(began) < 9*time.Second { // there is a slot, and the program needs three
			if a := b.read(submit(t, b.Scheduler, request(10, 4, 5))); a.end.Err != nil {
				t.Fatal(a.end.Err)
			}
			overtook++
		}
		time.Sleep(2 * time.Second)
		late := submit(t, b.Scheduler, request(10, 5, 5))
		written, other := b.read(st), b.read(late)
		if wait := written.end.Timing.Queued; overtook < 10 || wait < 10*time.Second {
			t.Errorf("%d requests have overtaken it, and it has waited for %v", overtook, wait)
		}
		if gap := written.end.Timing; other.end.Timing.Queued < gap.Queued-12*time.Second {
			t.Errorf("a later request waited for %v behind a program that waited for %v: it took the slot that was free", other.end.Timing.Queued, gap.Queued)
		}
		for i, st := range long {
			if a := b.read(st); a.end.Reason != answer.ReasonLength {
				t.Errorf("answer %d ended as %v", i, a.end.Reason)
			}
		}
	})
}

// A program that is paused gives all its slots to those who wait, and goes on later where it was.
func TestProgram_Paused_IsPreemptedAsAWhole(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 3}, func(b bubble) {
		want := alone(t, request(100, 1, 60))
		st := submit(t, b.Scheduler, written(100, 1, 3, func(r *program.Run) error {
			other, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			if _, err := favourite(r, other); err != nil {
				return err
			}
			return greedily(60)(r)
		}))
		time.Sleep(300 * time.Millisecond)
		if err := st.Pause(b.Context()); err != nil {
			t.Fatal(err)
		}
		var others []*scheduler.Stream
		for seed := range 3 {
			others = append(others, submit(t, b.Scheduler, request(50, 2+seed, 30)))
		}
		for _, other := range others {
			if a := b.read(other); a.end.Reason != answer.ReasonLength || a.end.Timing.Queued > time.Second {
				t.Errorf("another ended as %v after %v in the queue", a.end.Reason, a.end.Timing.Queued)
			}
		}
		for name, err := range map[string]error{
			"injecting": st.Inject(b.Context(), []scheduler.Token{1}), "rewinding": st.Rewind(b.Context(), 1),
			"another chain": st.SetChain(b.Context(), request(1, 1, 1).Chain),
		} {
			if !errors.Is(err, scheduler.ErrBadRequest) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := st.Resume(b.Context()); err != nil {
			t.Fatal(err)
		}
		if a := b.read(st); a.text != want.text {
			t.Errorf("%q, want %q: %v", a.text, want.text, a.end.Err)
		}
	})
}

// When cells run out, a program's own branches make room: the answers beside it are not computed
// again, and it comes to its end all the same.
func TestProgram_WithoutCells_ShelvesItsOwnBranches(t *testing.T) {
	inBubble(t, scheduler.Limits{Cells: 640}, scheduler.Config{Slots: 5}, func(b bubble) {
		neighbour := submit(t, b.Scheduler, request(100, 2, 150))
		r := written(100, 1, 4, func(r *program.Run) error {
			var all []*program.Branch
			for seed := range 4 { // 800 tokens in all
				one, err := r.Open(prompt(190, 10+seed)[0].Tokens)
				if err != nil {
					return err
				}
				all = append(all, one)
			}
			for range 5 {
				ready, err := r.Wait(1, false, all...)
				if err != nil {
					return err
				}
				for i, one := range ready {
					best, err := one.Best(1)
					if err != nil {
						return err
					}
					if want := b.says(one.Tokens()); best.IDs[0] != want {
						t.Errorf("branch %d says %d, the model %d", i, best.IDs[0], want)
					}
					if err := one.Append(best.IDs, false); err != nil {
						return err
					}
				}
			}
			return nil
		})
		st := submit(t, b.Scheduler, r)
		if a := b.read(st); a.end.Err != nil {
			t.Fatal(a.end.Err)
		}
		snap, err := b.Inspect(b.Context(), 4096)
		if err != nil {
			t.Fatal(err)
		}
		for _, tick := range snap.Ticks {
			if tick.Preempted > 0 {
				t.Error("somebody was preempted for it")
			}
		}
		if a := b.read(neighbour); a.text != alone(t, request(100, 2, 150)).text {
			t.Error("the neighbour's answer is another")
		}
	})
}

// The tick does not wait for a program that thinks, and the rows that it reads meanwhile stay what
// they were.
func TestProgram_Slow_HoldsUpNobody(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
		neighbour := submit(t, b.Scheduler, request(50, 2, 200))
		st := submit(t, b.Scheduler, written(100, 1, 2, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			for range 10 {
				if _, err := r.Wait(0, false, root); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond) // some passes
				row := make([]float32, b.host.Limits().Vocabulary)
				if _, err := root.Logits(row); err != nil {
					return err
				}
				want := b.says(root.Tokens())
				if row[want] != 10 {
					t.Errorf("the row is another than that after %d tokens", len(root.Tokens()))
				}
				if err := root.Append([]program.Token{want}, false); err != nil {
					return err
				}
			}
			return nil
		}))
		var last time.Time
		for e := range schedulertest.Events(b.Context(), neighbour) {
			if gap := time.Since(last); e.Kind == scheduler.KindToken && !last.IsZero() && gap > 40*time.Millisecond {
				t.Errorf("a gap of %v", gap)
			}
			if e.Kind == scheduler.KindToken {
				last = time.Now()
			}
		}
		if a := b.read(st); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

// What a slot does for a program is told by the branch, all under the one request.
func TestScheduler_Inspect_TellsBranches(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
		forked, looked := make(chan struct{}), make(chan struct{})
		st := submit(t, b.Scheduler, written(20, 1, 3, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			fork, err := root.Fork()
			if err != nil {
				return err
			}
			if err := fork.Append([]program.Token{3, 4}, false); err != nil {
				return err
			}
			if _, err := r.Wait(0, false, root, fork); err != nil {
				return err
			}
			close(forked)
			<-looked
			return nil
		}))
		<-forked
		snap, err := b.Inspect(b.Context(), 0)
		close(looked)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []scheduler.SlotInfo{{Branch: 1, Tokens: 20}, {Branch: 2, Tokens: 22}, {}, {}} {
			s := snap.Slots[i]
			if s.Branch != want.Branch || s.Tokens != want.Tokens || (s.Request == 1) != (i < 3) || i < 2 && (s.State != "parked" || s.Wait != scheduler.WaitProgram) {
				t.Errorf("slot %d: %+v", i, s)
			}
		}
		if a := b.read(st); a.end.Usage.Opened != 2 {
			t.Errorf("%+v", a.end.Usage)
		}
	})
}

// A program that has returned is done, however much of its time it has used up: its client has the
// end, and others its slots.
func TestProgram_Returned_RestsNoMore(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		began := time.Now()
		a := b.read(submit(t, b.Scheduler, written(10, 1, 2, func(r *program.Run) error {
			for until := background.ThreadTime() + 500*time.Millisecond; background.ThreadTime() < until; { // time stands still meanwhile
			}
			return showTokens(r, []program.Token{7})
		})))
		if took := time.Since(began); a.text != " 7" || took > 100*time.Millisecond {
			t.Errorf("%q came after %v", a.text, took)
		}
	})
}

// TestProgram_Timing_ShownAtTheEnd wants the time in which a program computes to count as that of
// its tokens, although it shows all of them at the end.
func TestProgram_Timing_ShownAtTheEnd(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		const tokens = 5
		st, err := b.Submit(written(4, 1, 1, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			var all []program.Token
			for range tokens {
				next, err := favourite(r, root)
				if err != nil {
					return err
				}
				all = append(all, next)
				if err := root.Append([]program.Token{next}, false); err != nil {
					return err
				}
			}
			return showTokens(r, all)
		}))
		if err != nil {
			b.Fatal(err)
		}
		if took := b.read(st).end.Timing; took.Prefill < 10*time.Millisecond || took.Decode < (tokens-1)*10*time.Millisecond {
			b.Errorf("reading the prompt took %v, and %d tokens %v", took.Prefill, tokens, took.Decode)
		}
	})
}

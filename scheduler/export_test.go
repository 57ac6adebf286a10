// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"time"
)

// TakeCommands runs what is in the inbox without a tick, for tests of calls that wait for an
// answer.
func TakeCommands(s *Scheduler) {
	s.collectAwaited()
	s.takeCommands()
}

// Held is how many KV cells the books say are in use.
func Held(s *Scheduler) int { return s.limits.Cells - s.cache.Free() }

// SnapshotOf is Inspect for a test that is itself the tick's goroutine.
func SnapshotOf(s *Scheduler) Snapshot { return s.snapshot(0) }

// SnapshotWithTicks is the same with ticks.
func SnapshotWithTicks(s *Scheduler, ticks int) Snapshot { return s.snapshot(ticks) }

// Calling is how many control calls wait for a reader or a background sampler.
func Calling(s *Scheduler) (n int) {
	for _, j := range s.calling {
		n += len(j.calls.waiting)
	}
	return n
}

// AtWork reports whether the background sampler of a request is at the work of a control call.
func AtWork(st *Stream) bool { return st.job.calls.atWork != nil }

// Awaited is how many background samplers and programs a later tick collects.
func Awaited(s *Scheduler) int { return len(s.awaited) + len(s.programs) }

// Rest makes a stream's stages rest for a while, as if they had used up their quota.
func Rest(st *Stream, d time.Duration) { st.job.drawer.background.RestUntil = time.Now().Add(d) }

// PreemptOne takes the slots of a job, if any has some.
func PreemptOne(s *Scheduler, n int) {
	if len(s.running) > 0 {
		s.preempt(s.running[n%len(s.running)])
	}
}

// Sleeps reports whether Run would sleep now until somebody wakes it: no tick is due at any time,
// and nobody has signalled since the last call.
func Sleeps(s *Scheduler) bool {
	select {
	case <-s.inbox.wake:
		return false
	default:
		return !s.again.due
	}
}

// Finish waits for background samplers and programs to return.
func Finish(s *Scheduler) { s.goroutines.Wait() }

// Preempt takes the slot of the job that is served first.
func Preempt(s *Scheduler) { s.preempt(s.running[0]) }

// Followed reports whether a request has waited for another to compute its prompt.
func Followed(st *Stream) bool { return st.job.sharedLen > 0 }

// Computed is how many tokens of a running request are in the KV cache.
func Computed(st *Stream) int {
	return st.job.branches[0].computed()
}

// Conversation is all tokens of an ended answer, and how many of them are the prompt.
func Conversation(st *Stream) (tokens []Token, prompt int) {
	return st.job.drawer.answer.Tokens(), st.job.drawer.answer.PromptLen()
}

// WaitingActions is how many actions on slots wait.
func WaitingActions(s *Scheduler) int { return len(s.slotActions) }

// LookAtLoad has a test that is itself the tick's goroutine look at the load.
func LookAtLoad(s *Scheduler) { s.lookAtLoad() }

// Sleep waits for what Run waits for between ticks.
func Sleep(ctx context.Context, s *Scheduler) { s.sleep(ctx) }

// Do has the tick do something.
func Do(ctx context.Context, s *Scheduler, f func()) error {
	return s.ask(ctx, func(*Scheduler) { f() })
}

// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
)

// runGuarded runs f and logs its panic, which is no request's fault.
func (s *Scheduler) runGuarded(f func()) {
	s.logPanic(panics.Try(func() error { f(); return nil }))
}

// logPanic logs an error that is a panic, if it was not logged before.
func (s *Scheduler) logPanic(err error) {
	if p := (*panics.Error)(nil); errors.As(err, &p) && p.Stack != nil {
		s.config.Log.Error("panic", slog.Any("value", p.Value), slog.String("stack", string(p.Stack)))
	}
}

// blame is deferred around what the tick does for one job: a panic ends that one.
func (s *Scheduler) blame(j *job) {
	if v := recover(); v != nil {
		s.abandon(j, panics.Recovered(v))
	}
}

// each does f for every job or branch; a panic ends the job that f was at. One guard for all is
// cheaper than one for each.
func each[T interface{ owner() *job }](s *Scheduler, list []T, f func(i int, of T)) {
	for i := 0; i < len(list); i++ {
		eachFrom(s, &i, list, f)
	}
}

func eachFrom[T interface{ owner() *job }](s *Scheduler, i *int, list []T, f func(i int, of T)) {
	defer func() {
		if v := recover(); v != nil {
			s.abandon(list[*i].owner(), panics.Recovered(v))
		}
	}()
	for ; *i < len(list); *i++ {
		f(*i, list[*i])
	}
}

// survive is deferred around a tick. A panic that no job can be blamed for ends the jobs of this
// tick; before there is a plan, all running jobs; if none runs, all queued ones. Otherwise the
// next tick would panic again.
func (s *Scheduler) survive(busy *bool) {
	v := recover()
	if v == nil {
		return
	}
	var jobs []*job
	for _, b := range slices.Concat(s.planned, s.prefilling) {
		jobs = append(jobs, b.job)
	}
	if len(jobs) == 0 {
		jobs = slices.Clone(s.running)
	}
	if len(jobs) == 0 {
		jobs = slices.Clone(s.queue.jobs)
	}
	s.logPanic(panics.Recovered(v))
	for _, j := range jobs {
		s.abandon(j, &panics.Error{Value: v})
	}
	if *busy = len(jobs) > 0; *busy {
		s.keepTicking(s.record.Start)
	}
}

// abandon ends a job after a panic, whatever state that has left it in.
func (s *Scheduler) abandon(j *job, err error) {
	for _, b := range j.branches {
		s.leaveOutOfPlan(b)
		if seq := b.seq; seq != nil {
			s.runGuarded(func() { s.cache.Repair(seq) }) // a pass may have been cut short
		}
	}
	s.runGuarded(func() { s.endJob(j, End{Reason: answer.ReasonError, Err: err}) })
	s.queue.remove(j) // the end was cut short as well
}

// A backend may lose what it computes with, such as a device of another machine. It says so with
// an error that is ErrLost, or its owner calls Lose where no pass is running. The answers in slots
// end, with that error; what waits in the queue stays there. Until Revive the scheduler takes
// requests, and has deadlines and control calls count, but asks nothing of the backend's memory
// and computes nothing.

// Losable is a Backend that knows whether it was lost. What was copied of its memory since then is
// nothing.
type Losable interface {
	// Lost is why, an ErrLost; nil: it was not.
	Lost() error
}

// backendLost is why the backend was lost, though no pass may have told yet.
func (s *Scheduler) backendLost() error {
	if b, ok := s.backend.(Losable); ok {
		return b.Lost()
	}
	return nil
}

// Lose has the scheduler do without its backend, for a reason that those who run are told. When it
// returns, the backend is not used any more but for its vocabulary. Doing it twice does nothing.
func (s *Scheduler) Lose(reason error) {
	_ = s.ask(context.Background(), func(s *Scheduler) { s.loseBackend(reason) }) // a scheduler that has ended does not use it either
}

// Revive says that the backend is as it was, with an empty memory.
func (s *Scheduler) Revive() { s.inbox.post(func(s *Scheduler) { s.lost = false }) }

// loseBackend ends what runs and forgets what the backend's memory held. What was being copied of
// it is finished first: nobody uses the copy.
func (s *Scheduler) loseBackend(reason error) {
	if s.lost {
		return
	}
	s.lost = true
	each(s, slices.Clone(s.running), func(_ int, j *job) { s.endJob(j, End{Reason: answer.ReasonError, Err: reason}) })
	s.recallRows()
	s.runGuarded(s.cache.Close)
	s.cache = s.newCache()
	clear(s.conversations)
	s.planned, s.awaitsCopy = s.planned[:0], false
	s.machine.note(work{})
}

func (s *Scheduler) newCache() *kvcache.Cache {
	return kvcache.New(s.backend, kvcache.Options{Cells: s.limits.Cells, Sequences: s.limits.Sequences, ArchiveBytes: s.config.ArchiveBytes,
		Checkpoints: s.config.Checkpoints, Cold: s.cold(), LeastCold: s.config.LeastCold, Pieces: s.config.Pieces, Clock: s.config.Clock})
}

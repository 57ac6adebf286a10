// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
)

// Panic is the error of a request during whose work something panicked: a stage, a rule, the backend, or the scheduler itself.
// The process and the other requests go on.
type Panic struct {
	Value any
	Stack []byte // nil where it was logged before
}

// Error is the value alone; the stack is in the log.
func (p *Panic) Error() string { return fmt.Sprintf("a panic: %v", p.Value) }

// Recovered makes an error of what recover has returned; nil of nil.
func Recovered(v any) error {
	if v == nil {
		return nil
	}
	return &Panic{Value: v, Stack: debug.Stack()}
}

// guarded runs f; its panic is its error.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Recovered(v)
		}
	}()
	return f()
}

// attempt runs f and logs its panic, which concerns no request.
func (s *Scheduler) attempt(f func()) {
	s.report(guarded(func() error { f(); return nil }))
}

// report logs an error that is a panic.
func (s *Scheduler) report(err error) {
	if p := (*Panic)(nil); errors.As(err, &p) && p.Stack != nil {
		s.config.Log.Error("panic", slog.Any("value", p.Value), slog.String("stack", string(p.Stack)))
	}
}

// blame is deferred around what the tick does for one job: a panic ends that one.
func (s *Scheduler) blame(j *job) {
	if v := recover(); v != nil {
		s.abandon(j, Recovered(v))
	}
}

// each does f for every job; a panic ends the one that f was at. One guard for all is cheaper than one for each.
func (s *Scheduler) each(jobs []*job, f func(i int, j *job)) {
	for i := 0; i < len(jobs); i++ {
		s.eachFrom(&i, jobs, f)
	}
}

func (s *Scheduler) eachFrom(i *int, jobs []*job, f func(i int, j *job)) {
	defer func() {
		if v := recover(); v != nil {
			s.abandon(jobs[*i], Recovered(v))
		}
	}()
	for ; *i < len(jobs); *i++ {
		f(*i, jobs[*i])
	}
}

// survive is deferred around a tick. A panic that no job can be blamed for ends those of the pass. Before there is one it ends
// all that run, or else wait: the next tick must find something else.
func (s *Scheduler) survive(busy *bool) {
	v := recover()
	if v == nil {
		return
	}
	jobs := slices.Concat(s.planned, s.prefilling)
	if len(jobs) == 0 {
		jobs = slices.Clone(s.running)
	}
	if len(jobs) == 0 {
		jobs = slices.Clone(s.queue.jobs)
	}
	s.report(Recovered(v))
	for _, j := range jobs {
		s.abandon(j, &Panic{Value: v})
	}
	*busy = len(jobs) > 0
}

// abandon ends a job after a panic, whatever state that has left it in.
func (s *Scheduler) abandon(j *job, err error) {
	if seq := j.seq; seq != nil {
		s.attempt(func() { s.cache.Repair(seq) }) // a pass may have been cut short
	}
	s.attempt(func() { s.end(j, End{Reason: ReasonError, Err: err}) })
	if slices.Contains(s.running, j) { // the end was cut short as well
		s.attempt(func() { s.leave(j) })
	}
	s.queue.remove(j)
}

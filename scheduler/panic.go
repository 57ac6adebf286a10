// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"log/slog"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/panics"
)

// attempt runs f and logs its panic, which is no request's fault.
func (s *Scheduler) attempt(f func()) {
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
		s.unplan(b)
		if seq := b.seq; seq != nil {
			s.attempt(func() { s.cache.Repair(seq) }) // a pass may have been cut short
		}
	}
	s.attempt(func() { s.end(j, End{Reason: answer.ReasonError, Err: err}) })
	s.queue.remove(j) // the end was cut short as well
}

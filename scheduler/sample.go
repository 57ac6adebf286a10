// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"math"
	"slices"
	"time"
)

var (
	errNoCandidate = errors.New("the sampler chain chose no token")
	banned         = func() (b [32]float32) {
		for i := range b {
			b[i] = float32(math.Inf(-1))
		}
		return b
	}()
)

// The tick waits for stages on other goroutines, after the native ones are done, for an eighth of what the pass took, or patience if
// that is longer. A job that is late costs itself a whole pass, and all others the processor it has while they compute; waiting
// costs all others that time.
const (
	patience     = time.Millisecond
	patienceLess = 8
)

// prepare lets the stages of the jobs that will get a row compute beside the forward pass.
func (s *Scheduler) prepare(jobs []*job) {
	for _, j := range jobs {
		if j.crew != nil && j.crew.prepares && j.row >= 0 && !j.crew.prepared {
			j.crew.prepared = true
			j.crew.orders <- orderPrepare
		}
	}
}

// sample draws the next token of every job whose last pending token was computed, and advances the job. What one
// native stage draws is drawn in one call; the others run beside it, each on its own goroutine.
func (s *Scheduler) sample(jobs []*job) {
	start := s.config.Clock()
	s.draws, s.drawJobs, s.crewJobs = s.draws[:0], s.drawJobs[:0], s.crewJobs[:0]
	for _, j := range jobs {
		switch {
		case j.row < 0:
		case j.crew != nil:
			s.handRow(j)
			s.crewJobs = append(s.crewJobs, j)
		default:
			s.draws = append(s.draws, Draw{Row: j.row, Stage: j.req.Chain[0]})
			s.drawJobs = append(s.drawJobs, j)
		}
	}
	if err := s.draw(); err != nil {
		for i := range s.draws {
			s.draws[i].Err = err
		}
	}
	s.each(s.drawJobs, func(i int, j *job) {
		if d := &s.draws[i]; d.Err != nil {
			j.fail(d.Err)
		} else {
			j.advance(d.Token, about{})
		}
	})
	s.record.Sample += s.config.Clock().Sub(start)
	if len(s.crewJobs) > 0 {
		s.await()
	}
}

// draw has the backend sample the rows of native chains.
func (s *Scheduler) draw() error {
	if len(s.draws) == 0 {
		return nil
	}
	return guarded(func() error { s.backend.SampleRows(s.draws); return nil })
}

// handRow gives a job's goroutine its row.
func (s *Scheduler) handRow(j *job) {
	c := j.crew
	c.busy, c.prepared = true, false
	c.source, c.waiting = s.backend.Row(j.row), true
	s.copied.Add(1)
	c.orders <- orderRow
}

// await waits for the jobs with goroutines of their own, but not long. The rows of those that are late are copied, since
// the next pass overwrites them.
func (s *Scheduler) await() {
	start := s.config.Clock()
	s.alarm.Reset(max(patience, s.record.Forward/patienceLess))
	rang := false
	for _, j := range s.crewJobs {
		for !rang && j.crew.busy {
			select {
			case <-j.crew.done:
				s.collect(j)
			case <-s.alarm.C:
				rang = true
			}
		}
	}
	s.alarm.Stop()
	for _, j := range s.crewJobs {
		if j.crew.busy {
			j.crew.copyRow()
			s.late = append(s.late, j) // it sits out until its goroutine is done, which wakes the tick
		}
	}
	s.copied.Wait()
	s.record.Plugins += s.config.Clock().Sub(start)
}

// collect takes over what a job's goroutine has done. Control calls that waited for it come with the next commands.
func (s *Scheduler) collect(j *job) {
	c := j.crew
	c.busy = false
	c.account()
	reply := c.reply
	c.reply = nil
	s.settle(j)
	if reply != nil {
		reply(c.taskErr)
	}
	s.retries = append(s.retries, j.deferred...)
	j.deferred = nil
}

// collectLate settles the jobs that were late in an earlier tick and are done now.
func (s *Scheduler) collectLate() {
	s.late = slices.DeleteFunc(s.late, func(j *job) bool {
		select {
		case <-j.crew.done:
			s.collect(j)
			return true
		default:
			return false
		}
	})
}

// settle carries out what advancing a job asks for. A panic ends the job.
func (s *Scheduler) settle(j *job) {
	defer s.blame(j)
	s.emit(j, s.config.Clock())
}

// emit is settle within a guard; now is the time of the job's tokens.
func (s *Scheduler) emit(j *job, now time.Time) {
	if j.done {
		return
	}
	out := &j.out
	if j.seq != nil && out.keep < j.seq.Len() { // at least one token must be pending, or there is no row to draw from
		s.cache.Truncate(j.seq, max(0, min(out.keep, len(j.tokens)-1)))
	}
	out.keep = math.MaxInt
	for i := range out.events {
		s.clock(j, now)
		j.stream.send(out.events[i])
		out.events[i] = Event{}
	}
	out.events = out.events[:0]
	j.counted = j.generated
	if out.ended {
		s.end(j, out.end)
	} else if j.seq != nil && j.pending() == 0 {
		s.cache.Truncate(j.seq, len(j.tokens)-1)
	}
}

// clock notes when a token came and reports the latency it had.
func (s *Scheduler) clock(j *job, now time.Time) {
	if j.first.IsZero() {
		j.first = now
		s.config.Observer.First(now.Sub(j.submitted))
	} else {
		s.config.Observer.Token(now.Sub(j.last))
	}
	j.last = now
}

// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/panics"
)

// The tick waits for workers, after the native stages are done, for an eighth of what the pass took, or patience if that is longer. A
// job that is late costs itself a whole pass, and all others the processor it has while they compute; waiting costs all others that time.
const (
	patience     = time.Millisecond
	patienceLess = 8
)

// prepareWorkers lets the stages of the jobs that will get a row compute beside the forward pass.
func (s *Scheduler) prepareWorkers(jobs []*job) {
	for _, j := range jobs {
		if j.worker != nil && j.row >= 0 {
			j.worker.Prepare()
		}
	}
}

// sample draws the next token of every job whose last pending token was computed, and takes it into the answer. Tokens of native
// stages are drawn in one call; workers draw the others meanwhile.
func (s *Scheduler) sample(jobs []*job) {
	start := s.config.Clock()
	s.draws, s.native, s.drawing = s.draws[:0], s.native[:0], s.drawing[:0]
	for _, j := range jobs {
		switch {
		case j.row < 0:
		case j.worker != nil:
			j.worker.Draw(s.backend.Row(j.row))
			s.drawing = append(s.drawing, j)
		default:
			s.draws = append(s.draws, Draw{Row: j.row, Stage: j.chain.Stages()[0]})
			s.native = append(s.native, j)
		}
	}
	s.drawNative()
	s.each(s.native, func(i int, j *job) {
		if d := &s.draws[i]; d.Err != nil {
			j.answer.Fail(d.Err)
		} else {
			j.answer.Advance(d.Token, answer.Details{})
		}
	})
	s.record.Sample += s.config.Clock().Sub(start)
	if len(s.drawing) > 0 {
		s.awaitWorkers()
	}
}

// drawNative has the backend sample the rows of native chains.
func (s *Scheduler) drawNative() {
	if len(s.draws) == 0 {
		return
	}
	if err := panics.Try(func() error { s.backend.SampleRows(s.draws); return nil }); err != nil {
		for i := range s.draws {
			s.draws[i].Err = err
		}
	}
}

// awaitWorkers waits for the workers that draw, but not long. Those that are late keep their rows, since the next pass overwrites them.
func (s *Scheduler) awaitWorkers() {
	start := s.config.Clock()
	s.alarm.Reset(max(patience, s.record.Forward/patienceLess))
	rang := false
	for _, j := range s.drawing {
		for !rang && j.worker.Busy() {
			select {
			case <-j.worker.Done():
				s.collect(j)
			case <-s.alarm.C:
				rang = true
			}
		}
	}
	s.alarm.Stop()
	for _, j := range s.drawing {
		if j.worker.Busy() {
			j.worker.KeepRow()
			s.late = append(s.late, j) // it sits out until its worker is done, which wakes the tick
		}
	}
	s.loans.Wait()
	s.record.Plugins += s.config.Clock().Sub(start)
}

// collect takes over what a job's worker has done. Control calls that waited for it come with the next commands.
func (s *Scheduler) collect(j *job) {
	err := j.worker.Collect()
	reply := j.reply
	j.reply = nil
	s.emitAlone(j)
	if reply != nil {
		reply(err)
	}
	s.retries = append(s.retries, j.deferred...)
	j.deferred = nil
}

// collectLate collects from the workers that were late in an earlier tick and are done now.
func (s *Scheduler) collectLate() {
	s.late = slices.DeleteFunc(s.late, func(j *job) bool {
		select {
		case <-j.worker.Done():
			s.collect(j)
			return true
		default:
			return false
		}
	})
}

// emitAlone is emit for one job, now. A panic ends that one.
func (s *Scheduler) emitAlone(j *job) {
	defer s.blame(j)
	s.emit(j, s.config.Clock())
}

// emit sends what a job's answer shows, cuts what it has taken back out of the KV cache, and ends it where it has ended; now is the
// time of its tokens.
func (s *Scheduler) emit(j *job, now time.Time) {
	if j.done {
		return
	}
	out, tokens := j.answer.Output(), len(j.answer.Tokens())
	if j.seq != nil && out.Keep < j.seq.Len() { // at least one token must be pending, or there is no row to draw from
		s.cache.Truncate(j.seq, max(0, min(out.Keep, tokens-1)))
	}
	for i := range out.Shown {
		t := &out.Shown[i]
		s.clock(j, now)
		j.stream.send(Event{Kind: KindToken, Token: t.Token, Text: t.Text, Logprobs: t.Logprobs, Trace: t.Trace})
	}
	out.Reset()
	j.counted = j.answer.Generated()
	if out.Reason != 0 {
		s.end(j, End{Reason: out.Reason, Stop: out.Stop, Err: out.Err})
	} else if j.seq != nil && j.pending() == 0 {
		s.cache.Truncate(j.seq, tokens-1)
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

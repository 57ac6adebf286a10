// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"
)

// emit sends the text that a job's answer shows, removes from the KV cache the tokens that were
// taken back, and ends the job if the answer has ended. now is the time of its tokens. A second
// emit in the same tick sends nothing: the first has reset the output.
func (s *Scheduler) emit(j *job, now time.Time) {
	if j.done {
		return
	}
	out, tokens := j.answer.Output(), len(j.answer.Context())
	s.settleDraft(j)
	if j.kind == kindAnswer {
		if seq := j.branch.seq; seq != nil && out.Unchanged < seq.Len() { // at least one token must be pending, or there is no row to draw from
			s.cache.Truncate(seq, max(0, min(out.Unchanged, tokens-1)))
		}
		s.placeAdapters(j)
	}
	for i := range out.Shown {
		if out.Shown[i].IsToken() {
			s.recordToken(j, now)
		}
		j.stream.push(out.Shown[i])
	}
	out.Reset()
	j.counted = j.answer.Released()
	if out.Reason != 0 {
		s.endAnswer(j, End{Reason: out.Reason, Stop: out.Stop, EndToken: out.EndToken, Err: out.Err})
	}
}

// settle takes over what a drawer has drawn: an answer sends it, and a branch that goes on by itself
// keeps it for its program.
func (s *Scheduler) settle(d *drawer, now time.Time) {
	if d.forProgram {
		s.settleSelfRun(d)
	} else {
		s.emit(d.job, now)
	}
}

// emitOne is emit for one job, now. A panic ends that one.
func (s *Scheduler) emitOne(j *job) {
	defer s.blame(j)
	s.emit(j, s.config.Clock())
}

// collect takes over what a background sampler has done. Control calls that waited for it are tried
// with the next commands.
func (s *Scheduler) collect(d *drawer) {
	err := d.background.Collect()
	j := d.job
	if d.forProgram {
		s.settleSelfRun(d)
		return
	}
	if len(j.guess.draft) > 0 {
		j.guess.row = j.background.Row()
	}
	p := j.calls.atWork
	j.calls.atWork = nil
	s.emitOne(j)
	if p != nil {
		p.tell(err)
	}
	if j.kind != kindAnswer {
		s.goOnWithProgram(j.main())
	}
}

// collectAwaited collects from the background samplers that an earlier tick has left at work and
// that are done now.
func (s *Scheduler) collectAwaited() {
	s.awaited = slices.DeleteFunc(s.awaited, s.collectIfDone)
}

// collectIfDone collects from a background sampler if that is done now.
func (s *Scheduler) collectIfDone(d *drawer) (done bool) {
	select {
	case <-d.background.Done():
		s.collect(d)
		return true
	default:
		return false
	}
}

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
	out, tokens := j.drawer.answer.Output(), len(j.drawer.answer.Context())
	s.settleDraft(&j.drawer)
	if j.kind == kindAnswer {
		if seq := j.drawer.branch.seq; seq != nil && out.Unchanged < seq.Len() { // at least one token must be pending, or there is no row to draw from
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
	j.counted = j.drawer.answer.Released()
	if out.Reason == 0 {
		return
	}
	e := End{Reason: out.Reason, Stop: out.Stop, By: out.By, EndToken: out.EndToken, Err: out.Err}
	if j.kind == kindProgram && j.othersGoOn() {
		j.held = &e // the program goes on for its other choices
		return
	}
	s.endJob(j, e)
}

// takeDrawn takes over what a drawer has drawn: an answer sends it, and a branch that goes on by
// itself keeps it for its program.
func (s *Scheduler) takeDrawn(d *drawer, now time.Time) {
	if d.forProgram {
		s.settleSelfRun(d)
	} else {
		d.job.times.drawnFrom(now)
		s.emit(d.job, now)
	}
}

// emitOne is emit for one job, now. A panic ends that one.
func (s *Scheduler) emitOne(j *job) {
	defer s.blame(j)
	s.emit(j, s.config.Clock())
}

// collectDrawn takes over what a background sampler has done. Control calls that waited for it are
// tried with the next commands.
func (s *Scheduler) collectDrawn(d *drawer) {
	err := d.background.Collect()
	j := d.job
	if d.guess.drafting() {
		d.guess.row = d.background.Row()
	}
	if d.forProgram {
		s.settleSelfRun(d)
		return
	}
	p := j.calls.atWork
	if p == nil {
		j.times.drawnFrom(s.config.Clock())
	}
	j.calls.atWork = nil
	s.emitOne(j)
	if p != nil {
		p.tell(err)
	}
	if main := j.main(); main.kind == kindProgram { // not of a choice whose program has left its answer
		s.goOnWithProgram(main)
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
		s.collectDrawn(d)
		return true
	default:
		return false
	}
}

// usage counts the tokens of a job so far, without what a program that goes on has had computed.
func (j *job) usage() Usage {
	return Usage{Prompt: j.drawer.answer.PromptLen(), Cached: j.cached, Generated: j.counted, Drafted: j.drafted, Accepted: j.accepted, Branches: j.spent, Opened: j.opened}
}

// endJob finishes a job, wherever it is, and sends its last event. Ending twice does nothing.
func (s *Scheduler) endJob(j *job, e End) {
	if j.done {
		return
	}
	j.done = true
	defer s.inbox.ended(j.req.Caller, len(j.branches))
	now := s.config.Clock()
	busy := j.drawer.background.Busy()
	if !busy {
		j.counted = j.drawer.answer.Released()
		e.Truncated = j.drawer.answer.Truncated()
	}
	e.Usage = j.usage()
	if j.kind == kindProgram {
		for _, b := range j.branches {
			j.program.Spend(b.untoldDraws())
		}
		e.Usage.Branches, e.Usage.Opened = j.program.Used()
		e.Usage.Branches = max(0, e.Usage.Branches-j.othersShown())
	}
	if j.kind == kindAnswer && j.drawer.branch.seq != nil {
		s.runGuarded(func() { s.dropDraft(&j.drawer) })
		e.Usage.Context = j.drawer.branch.seq.Len()
	}
	e.Timing = j.times.timing(now)
	s.logPanic(e.Err)
	j.tellAllGrown()
	last := Event{Kind: KindEnd, End: &e}
	if !busy {
		s.runGuarded(func() { last.Text = j.drawer.answer.Flush() })
	}
	record := e.requestRecord()
	record.Context = j.req.Context
	if j.req.Ended != nil {
		s.runGuarded(func() { j.req.Ended(record) })
		j.req.Ended = nil // a tick without work leaves the job where the last one had it, with all that this refers to
	}
	s.tellListeners(func(l *Listener) {
		if l.Ended != nil {
			l.Ended(record)
		}
	})
	j.stream.send(last)
	j.req.Pieces, j.req.Context = nil, nil // whoever keeps the stream keeps neither of them
	s.runGuarded(func() { s.dropAllButOne(j) })
	s.runGuarded(func() { s.leaveSlots(j) })
	s.runGuarded(j.drawer.background.Interrupt)
	if j.kind == kindProgram {
		s.endProgram(j)
	} else {
		j.drawer.close()
	}
	s.runGuarded(j.refuseCalls)
	if j.kind != kindAnswer {
		s.endOthers(j, e)
	}
}

// times are the moments a request has reached; the others are zero.
type times struct {
	first, last time.Time // tokens
	submitted   time.Time
	admitted    time.Time // to a slot, for the first time
	row         time.Time // the first one that it drew from, or that a program got: its first token may be shown at the end
}

// drawnFrom notes that a request's first row was drawn from, or was given to it.
func (t *times) drawnFrom(now time.Time) {
	if t.row.IsZero() {
		t.row = now
	}
}

// timing splits a request's time at those moments.
func (t *times) timing(now time.Time) Timing {
	switch {
	case t.admitted.IsZero():
		return Timing{Queued: now.Sub(t.submitted)}
	case !t.row.IsZero():
		return Timing{Queued: t.admitted.Sub(t.submitted), Prefill: t.row.Sub(t.admitted), Decode: now.Sub(t.row)}
	case t.first.IsZero():
		return Timing{Queued: t.admitted.Sub(t.submitted), Prefill: now.Sub(t.admitted)}
	}
	return Timing{Queued: t.admitted.Sub(t.submitted), Prefill: t.first.Sub(t.admitted), Decode: now.Sub(t.first)}
}

// recordToken notes when a token came and reports the latency it had.
func (s *Scheduler) recordToken(j *job, now time.Time) {
	t := &j.times
	first, since := t.first.IsZero(), t.last
	if first {
		t.first, since = now, t.submitted
	}
	t.last = now
	s.tellListeners(func(l *Listener) {
		switch {
		case first && l.First != nil:
			l.First(now.Sub(since))
		case !first && l.Token != nil:
			l.Token(now.Sub(since))
		}
	})
	s.rates.shown++
}

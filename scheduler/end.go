// SPDX-License-Identifier: MIT

package scheduler

// end finishes a job, wherever it is, and sends its last event. Ending twice does nothing.
func (s *Scheduler) end(j *job, e End) {
	if j.done {
		return
	}
	j.done = true
	defer s.inbox.ended(j.req.Caller, len(j.branches))
	now := s.config.Clock()
	busy := j.background.Busy()
	if !busy {
		j.counted = j.answer.Released()
		e.Truncated = j.answer.Truncated()
	}
	e.Usage = Usage{Prompt: j.answer.PromptLen(), Cached: j.cached, Generated: j.counted, Drafted: j.drafted, Accepted: j.accepted}
	e.Usage.Branches, e.Usage.Opened = j.spent, j.opened
	if j.kind == kindProgram {
		for _, b := range j.branches {
			j.program.Spend(b.drawn())
		}
		e.Usage.Branches, e.Usage.Opened = j.program.Used()
		e.Usage.Branches = max(0, e.Usage.Branches-j.othersShown())
	}
	if j.kind == kindAnswer && j.branch.seq != nil {
		s.attempt(func() { s.dropDraft(j) })
		e.Usage.Context = j.branch.seq.Len()
	}
	e.Timing = j.times.timing(now)
	s.logPanic(e.Err)
	j.tellAllGrown()
	last := Event{Kind: KindEnd, End: &e}
	if !busy {
		s.attempt(func() { last.Text = j.answer.Flush() })
	}
	if j.req.Ended != nil {
		s.attempt(func() { j.req.Ended(e.requestRecord()) })
		j.req.Ended = nil // a tick without work leaves the job where the last one had it, with all that this refers to
	}
	j.stream.send(last)
	j.req.Pieces = nil // whoever keeps the stream keeps no embeddings
	s.attempt(func() { s.dropAllButOne(j) })
	s.attempt(func() { s.leave(j) })
	s.attempt(j.background.Interrupt)
	if j.kind == kindProgram {
		s.endProgram(j)
	} else {
		j.close()
	}
	s.attempt(j.refuseCalls)
	s.choiceEnded(j, e)
	s.attempt(func() { s.config.Observer.Ended(e.requestRecord()) })
}

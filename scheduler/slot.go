// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// headroom is how many cells admission leaves for each running job to grow into before someone must be preempted.
const headroom = 16

// fits tells whether the KV cache has room for a queued job's tokens beside what the running jobs still need.
func (s *Scheduler) fits(j *job) bool {
	if len(s.running) == 0 {
		return true
	}
	tokens := j.answer.Tokens()
	need := len(tokens) + headroom
	if j.reuses() {
		need -= s.cache.SharedPrefix(tokens, j.req.CacheSalt)
	}
	for _, r := range s.running {
		need += headroom
		if !r.worker.Busy() {
			need += r.pending()
		}
	}
	return s.cache.HasRoom(need)
}

// start gives a queued job a slot and a sequence. It reports false while the sequence waits for a copy.
func (s *Scheduler) start(j *job, slot int, now time.Time) bool {
	defer s.blame(j)
	seq := s.cache.Acquire(kvcache.Request{Tokens: j.answer.Tokens(), Prompt: j.answer.Prompt(), Salt: j.req.CacheSalt, Reuse: j.reuses(),
		Resumed: j.started, Continued: j.continued})
	if seq == nil {
		return false
	}
	s.queue.remove(j)
	s.enter(j, slot, seq, now)
	return true
}

// enter puts a job into its slot.
func (s *Scheduler) enter(j *job, slot int, seq *kvcache.Sequence, now time.Time) {
	j.slot, j.seq = slot, seq
	s.slots[slot] = j
	i, _ := slices.BinarySearchFunc(s.running, j, compareJobs)
	s.running = slices.Insert(s.running, i, j)
	j.begun, j.served, j.leader = s.prefilled, s.ticks, nil
	if j.started {
		return
	}
	j.started = true
	j.times.admitted = now
	j.cached = seq.Len()
	j.continued = seq.Continued()
	j.stream.send(Event{Kind: KindStarted, Started: &Started{Slot: slot, PromptTokens: j.answer.Prompt(), CachedTokens: j.cached}})
	s.open(j)
}

// reuses tells whether the job begins from cells that are there. One that was preempted looks for its own.
func (j *job) reuses() bool { return j.req.CachePrompt || j.started }

// leave takes a job out of its slot; its cells stay as prefix cache.
func (s *Scheduler) leave(j *job) {
	s.cache.Release(j.seq)
	s.slots[j.slot] = nil
	s.running = slices.DeleteFunc(s.running, func(r *job) bool { return r == j })
	j.seq, j.slot, j.row, j.scheduled = nil, -1, -1, 0
}

// parked is a running job that could not go on now: paused, or its reader does not keep up; nil if there is none.
func (s *Scheduler) parked() *job {
	for _, j := range slices.Backward(s.running) {
		if j.paused || j.stalled {
			return j
		}
	}
	return nil
}

// victim is the job to preempt so that j can go on: a parked one, else the last in order if that comes after j; nil if
// there is none.
func (s *Scheduler) victim(j *job) *job {
	if p := s.parked(); p != nil {
		return p
	}
	if last := s.running[len(s.running)-1]; j.before(last) {
		return last
	}
	return nil
}

// preempt takes the slot and the cells of a job. It waits in the queue, before all that came later, and goes on where it
// was; what of its cells nobody needed is still there then. It reports false for nil.
func (s *Scheduler) preempt(j *job) bool {
	if j == nil {
		return false
	}
	if i := slices.Index(s.planned, j); i >= 0 {
		s.planned = slices.Delete(s.planned, i, i+1)
		s.reserved -= j.scheduled
		if i < s.decoding {
			s.decoding--
		}
	}
	s.leave(j)
	s.queue.push(j)
	s.record.Preempted++
	return true
}

// end finishes a job, wherever it is, and sends its last event. Ending twice does nothing.
func (s *Scheduler) end(j *job, e End) {
	if j.done {
		return
	}
	j.done = true
	defer s.inbox.ended()
	now := s.config.Clock()
	busy := j.worker.Busy()
	if !busy {
		j.counted = j.answer.Generated()
	}
	e.Usage = Usage{Prompt: j.answer.Prompt(), Cached: j.cached, Generated: j.counted}
	e.Timing = j.times.timing(now)
	s.logPanic(e.Err)
	last := Event{Kind: KindEnd, End: &e}
	if !busy {
		s.attempt(func() { last.Text = j.answer.Flush() })
	}
	j.stream.send(last)
	if j.seq != nil {
		s.leave(j)
	} else {
		s.queue.remove(j)
	}
	j.worker.Interrupt()
	j.close()
	if j.calls.reply != nil { // a control call is at work; it comes too late
		j.calls.reply(ErrEnded)
		j.calls.reply = nil
	}
	for _, try := range j.calls.awaitWorker {
		s.attempt(func() { try(s) }) // and these are told so
	}
	j.calls.awaitWorker = nil
	s.attempt(func() { s.config.Observer.Ended(e.requestRecord()) })
}

// expire ends the jobs whose deadline has passed.
func (s *Scheduler) expire(now time.Time) {
	at, ok := s.nextDeadline()
	if !ok || now.Before(at) {
		return
	}
	for _, j := range s.jobs() {
		if d := j.req.Deadline; !d.IsZero() && !now.Before(d) {
			s.end(j, End{Reason: answer.ReasonError, Err: ErrDeadline})
		}
	}
}

// nextAlarm is the next moment at which time alone changes something: a deadline, or the end of a worker's rest.
func (s *Scheduler) nextAlarm() (at time.Time, ok bool) {
	at, ok = s.nextDeadline()
	if look := s.config.Clock().Add(copyCheck); s.cache.Copying() && (!ok || look.Before(at)) {
		at, ok = look, true
	}
	for _, jobs := range [2][]*job{s.running, s.queue.jobs} { // one that rests may have been preempted
		for _, j := range jobs {
			if !j.worker.Resting() {
				continue
			}
			if rested := s.config.Clock().Add(time.Until(j.worker.RestUntil)); !ok || rested.Before(at) {
				at, ok = rested, true
			}
		}
	}
	return at, ok
}

// nextDeadline is the earliest deadline of all jobs.
func (s *Scheduler) nextDeadline() (at time.Time, ok bool) {
	for _, jobs := range [2][]*job{s.running, s.queue.jobs} {
		for _, j := range jobs {
			if d := j.req.Deadline; !d.IsZero() && (!ok || d.Before(at)) {
				at, ok = d, true
			}
		}
	}
	return at, ok
}

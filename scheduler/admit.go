// SPDX-License-Identifier: MIT

package scheduler

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
)

// queue holds the jobs that wait for a slot in the order they are served. A preempted job keeps
// its place in that order, and so comes back before all that came later.
type queue struct {
	jobs      []*job
	turns     callerTurns
	gathering gathering
	arrivals  uint64    // requests so far
	deadline  time.Time // of all jobs, those in slots included, none is earlier; that of one that has ended costs a tick. Zero: none has one
}

// queuePlace is a job's place in the queue.
type queuePlace struct {
	arrival          uint64    // counts requests
	effectiveArrival time.Time // arrival time, made earlier by its priority
	queued           time.Time // when it came, or lost its slots
	leader           *branch   // computes a prefix of this one's prompt, which waits for that
	sharedLen        int       // how many tokens that prefix has
	sought           bool      // the cold store was asked for its prompt
	thaw             *thaw     // what that is reading for it; nil: nothing
}

// aging is how much earlier a request counts as having arrived for each step of its priority. So
// it goes before those of lower priority that came shortly before it, and none waits forever: ten
// seconds of waiting make up for one step.
const aging = 10 * time.Second

// overtaken is how long others may overtake a job that waits for more slots than are free.
const overtaken = aging

// arrive gives a job its place in the order.
func (j *job) arrive(number uint64, now time.Time) {
	j.arrival = number
	j.effectiveArrival = now.Add(-time.Duration(j.req.Priority) * aging)
	j.queued = now
}

// before reports whether the job is served before another: the smallest effectiveArrival first,
// equal ones in order of arrival.
func (j *job) before(k *job) bool {
	if !j.effectiveArrival.Equal(k.effectiveArrival) {
		return j.effectiveArrival.Before(k.effectiveArrival)
	}
	return j.arrival < k.arrival
}

func compareJobs(a, b *job) int {
	if a.before(b) {
		return -1
	}
	return 1
}

func (q *queue) push(j *job) {
	q.note(j.req.Deadline)
	i, _ := slices.BinarySearchFunc(q.jobs, j, compareJobs)
	q.jobs = slices.Insert(q.jobs, i, j)
}

// note takes in the deadline of a job.
func (q *queue) note(deadline time.Time) {
	if !deadline.IsZero() && (q.deadline.IsZero() || deadline.Before(q.deadline)) {
		q.deadline = deadline
	}
}

func (q *queue) remove(j *job) {
	if i := slices.Index(q.jobs, j); i >= 0 {
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
}

const (
	// The first request after a rest waits for others that are on their way, at most for a part of
	// what its prompt takes, within bounds.
	gatherPart     = 4
	shortestGather = 4 * time.Millisecond
	longestGather  = 50 * time.Millisecond

	// When none is known to be on its way, it waits a moment for those of a burst that have not
	// reached the host.
	settlePart    = 50
	longestSettle = time.Millisecond
)

// Expect tells that a request is on its way: it will be submitted, or not, before arrived is
// called. Requests that come at once then share their first pass. arrived may be called more than
// once.
func (s *Scheduler) Expect() (arrived func()) {
	s.inbox.expect(1)
	return sync.OnceFunc(func() { s.inbox.expect(-1) })
}

// gathering is how long the first request after a rest is held back for others on their way.
// Without it the prompt of the first would be computed alone, and its answer would then wait at
// every tick in which one of the others' is.
type gathering struct {
	began time.Time // when the first one came; zero: nobody is held back
	quiet time.Time // since when no other came, and none is expected; zero: one is
}

// gather begins to hold requests back with one that finds nothing to compute: no job runs, and none
// of the queue is about to. Each new request makes the others wait a moment more.
func (s *Scheduler) gather(now time.Time) {
	if s.queue.gathering.began.IsZero() && len(s.running) == 0 && s.chooseNext(now) == nil && s.inbox.told() {
		s.queue.gathering.began = now
	}
	s.queue.gathering.quiet = time.Time{}
}

// heldBack tells until when no request is admitted; zero: now they are.
func (s *Scheduler) heldBack(now time.Time) (until time.Time) {
	g := &s.queue.gathering
	if g.began.IsZero() || len(s.queue.jobs) == 0 {
		*g = gathering{}
		return time.Time{}
	}
	most, settle := s.gatherTimes()
	until = g.began.Add(most)
	if s.inbox.expects() {
		g.quiet = time.Time{}
	} else {
		if g.quiet.IsZero() {
			g.quiet = now
		}
		if settled := g.quiet.Add(settle); settled.Before(until) {
			until = settled
		}
	}
	if now.Before(until) {
		return until
	}
	*g = gathering{}
	return time.Time{}
}

// gatherTimes is how long the first request waits for others at most, and when none is known to
// come. Making the others' prompts may take as many milliseconds as there are of them; where a
// pass takes hundreds, that is nothing beside the pass that it saves.
func (s *Scheduler) gatherTimes() (most, settle time.Duration) {
	waiting := 0
	for _, j := range s.queue.jobs {
		if !j.started { // else it was not held back, and its background sampler may be writing its tokens
			waiting += len(j.drawer.answer.Expected())
		}
	}
	pass := s.estimator.Prefill(estimator.Pass{Tokens: min(waiting, s.limits.Batch)})
	return min(max(pass/gatherPart, shortestGather), longestGather), min(pass/settlePart, longestSettle)
}

// callerTurns has callers take turns for slots: one that asks for little does not wait behind all
// that another has asked for before.
type callerTurns struct {
	served map[string]uint64 // the number of the last admission of a caller's
	last   uint64

	sorted, same []turn // memory
}

// turn is a queued job with what gives it its place among others of its priority.
type turn struct {
	job   *job
	round int // how many of its caller's are in slots, or before it in the queue
}

// mostServed bounds the callers that are remembered.
const mostServed = 1024

// note notes that a job of a caller was admitted.
func (t *callerTurns) note(caller string) {
	if t.served == nil {
		t.served = map[string]uint64{}
	}
	t.last++
	t.served[caller] = t.last
	if len(t.served) > mostServed {
		for c, n := range t.served {
			if t.last-n >= mostServed/2 {
				delete(t.served, c)
			}
		}
	}
}

// orderJobs puts the queued jobs into the order in which they are to be admitted. Jobs of one
// priority exchange places: those whose caller has the fewest slots, or jobs before them, come
// first, and among these that whose caller was served the longest ago. Those of one caller stay in
// order.
func (t *callerTurns) orderJobs(queued, running []*job) []*job {
	if !slices.ContainsFunc(queued, func(j *job) bool { return j.req.Caller != queued[0].req.Caller }) {
		return queued
	}
	ahead := map[string]int{}
	for _, j := range running {
		ahead[j.req.Caller] += len(j.branches)
	}
	t.sorted = t.sorted[:0]
	for _, j := range queued {
		t.sorted = append(t.sorted, turn{j, ahead[j.req.Caller]})
		ahead[j.req.Caller] += len(j.branches)
	}
	out := make([]*job, len(queued))
	for i, first := range queued {
		if out[i] != nil {
			continue
		}
		t.fillPlaces(out, first.req.Priority)
	}
	return out
}

// fillPlaces gives the jobs of a priority the places that these have.
func (t *callerTurns) fillPlaces(out []*job, priority int) {
	t.same = t.same[:0]
	for _, w := range t.sorted {
		if w.job.req.Priority == priority {
			t.same = append(t.same, w)
		}
	}
	slices.SortStableFunc(t.same, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(t.served[a.job.req.Caller], t.served[b.job.req.Caller]))
	})
	next := 0
	for i, w := range t.sorted {
		if w.job.req.Priority == priority {
			out[i] = t.same[next].job
			next++
		}
	}
}

// admit moves queued jobs into free slots while the KV cache has room for their prompts. A parked
// job is preempted for them, or one of a caller who has had several slots while another had none.
// If admitting takes long while others generate, the rest wait for the next tick.
func (s *Scheduler) admit(now time.Time) {
	if s.awaitsCopy {
		s.keepTicking(now)
		return // the cells that become free are for running jobs; the next tick admits
	}
	if until := s.heldBack(now); !until.IsZero() {
		s.tickAt(until)
		return
	}
	for j := s.chooseNext(now); j != nil; j = s.chooseNext(now) {
		if s.config.Clock().Sub(now) > longestAdmission && s.anyGenerates() {
			return
		}
		if s.hasSlots(j) && s.fitsCache(j) || s.giveWay(j, now) {
			if !s.startJob(j, now) {
				return // its sequence waits for a copy, which asks for a tick itself
			}
		} else if !s.preempt(s.preemptibleFor(j)) {
			return // none overtakes: the cells the first one waits for would never come
		}
	}
}

// chooseNext finds the queued job to admit now: the first that can go on, does not follow a running
// one, waits for no disk and can have the slots that it waits for. A job that follows loses nothing
// by waiting, nor when others go before it. Looking has effects: a job that waits is given its
// leader, whose sequence gets a checkpoint there, or has its conversation read from the disk.
func (s *Scheduler) chooseNext(now time.Time) *job {
	for _, j := range s.queue.turns.orderJobs(s.queue.jobs, s.running) {
		if j.checkReady() && s.canHaveSlots(j, now) && !s.followsRunning(j) && !s.awaitsThaw(j, now) {
			return j
		}
	}
	return nil
}

// longestAdmission is after how long a tick stops admitting if slots generate: they all wait for
// it.
const longestAdmission = 10 * time.Millisecond

// freeSlots is how many slots are free.
func (s *Scheduler) freeSlots() (n int) {
	for _, b := range s.slots {
		if b == nil {
			n++
		}
	}
	return n
}

// hasSlots reports whether the slots for a queued job are free: all of them, or it gets none.
func (s *Scheduler) hasSlots(j *job) bool {
	if j.req.Slot != nil {
		return s.slots[*j.req.Slot] == nil
	}
	return s.freeSlots() >= len(j.branches)
}

// canHaveSlots reports whether a queued job is to be considered. One that waits for a slot of its
// own can have it if nobody is in it, or one who is parked. One that needs several is overtaken
// for a while if there are too few, and then by nobody: the others would take each slot that
// becomes free forever.
func (s *Scheduler) canHaveSlots(j *job, now time.Time) bool {
	if j.req.Slot != nil {
		in := s.slots[*j.req.Slot]
		return in == nil || in.job.parked()
	}
	if len(j.branches) == 1 || now.Sub(j.queued) >= overtaken {
		return true
	}
	available := s.freeSlots()
	for _, r := range s.running {
		if r.parked() {
			available += len(r.branches)
		}
	}
	return available >= len(j.branches)
}

// preemptibleFor is the parked job to preempt for a queued one: who is in its own slot, else the
// last in order; nil if there is none.
func (s *Scheduler) preemptibleFor(j *job) *job {
	if j.req.Slot != nil && s.slots[*j.req.Slot] != nil {
		return s.slots[*j.req.Slot].job
	}
	return s.preemptible()
}

// fitsCache reports whether the KV cache has room for a queued job's tokens beside what the running
// jobs still need.
func (s *Scheduler) fitsCache(j *job) bool {
	if len(s.running) == 0 {
		return true
	}
	tokens := j.drawer.answer.Expected()
	need := len(tokens) + headroom*len(j.branches)
	if j.reusesCells() {
		need -= s.cache.SharedPrefix(tokens, j.scope)
	}
	for _, r := range s.running {
		need += headroom * len(r.branches)
		if !r.drawer.background.Busy() {
			need += r.lackedTokens()
		}
	}
	return s.cache.HasRoom(need)
}

// headroom is how many cells admission leaves for each running job to grow into before one must be
// preempted.
const headroom = 16

// startJob gives a queued job its slots and, unless a program will say what it is for, a sequence.
// It reports false while that waits for a copy.
func (s *Scheduler) startJob(j *job, now time.Time) bool {
	defer s.blame(j)
	if j.kind == kindAnswer {
		if !s.useThaw(j) {
			return false
		}
		seq, _ := s.cache.Acquire(kvcache.Claim{Tokens: j.drawer.answer.Expected(), PromptLen: j.drawer.answer.PromptLen(), Scope: j.scope, Reuse: j.reusesCells(),
			Resumed: j.started, Continued: j.continued})
		if seq == nil {
			return false
		}
		j.drawer.branch.seq = seq
	}
	s.queue.remove(j)
	s.enterSlots(j, now)
	return true
}

// enterSlots puts a job into its slots.
func (s *Scheduler) enterSlots(j *job, now time.Time) {
	for _, b := range j.branches {
		if b.slot = slices.Index(s.slots, nil); j.req.Slot != nil {
			b.slot = *j.req.Slot
		}
		s.slots[b.slot] = b
		b.prefilledAtEntry, b.lastChunkTick = s.prefilled, s.ticks
		s.dropUnscored(b)
	}
	i, _ := slices.BinarySearchFunc(s.running, j, compareJobs)
	s.running = slices.Insert(s.running, i, j)
	s.queue.turns.note(j.req.Caller)
	if j.leader = nil; j.started {
		return
	}
	j.started = true
	j.times.admitted = now
	if j.kind == kindAnswer {
		j.cached = min(j.drawer.branch.seq.Len(), j.drawer.answer.PromptLen())
		j.continued = j.drawer.branch.seq.Continued()
	}
	j.stream.send(Event{Kind: KindStarted, Started: &Started{Slot: j.branches[0].slot, PromptTokens: j.drawer.answer.PromptLen(), CachedTokens: j.cached}})
	s.openAnswer(j)
	if j.kind == kindProgram {
		s.startChoices(j)
		s.openProgram(j)
	}
}

// openAnswer begins a job's answer: on the tick if that is quick, else with a background sampler.
func (s *Scheduler) openAnswer(j *job) {
	early := len(j.drawer.answer.Early()) > 0
	if stages := j.drawer.chain.Stages(); j.drawer.needsBackground(stages) || early && chain.Guarded(stages) {
		s.giveBackground(&j.drawer, j.drawer.metered(stages) || early)
	} else if err := panics.Try(j.drawer.answer.Begin); err != nil {
		j.drawer.answer.Fail(err)
		s.emitOne(j)
		return
	}
	if early {
		s.performCall(j, &pendingCall{call: call{work: func(a *answer.Answer) error { a.InjectEarly(); return nil }}}) // nobody waits for it
	}
}

// reusesCells reports whether the job begins from cells that are in the KV cache. One that was
// preempted looks for its own. One that wants the rows of its prompt computes them.
func (j *job) reusesCells() bool {
	return j.req.CachePrompt && !j.branches[0].wantsPromptRows() || j.started
}

// leaveSlots takes a job out of its slots, where its cells stay as prefix cache, or out of the
// queue.
func (s *Scheduler) leaveSlots(j *job) {
	s.dropThaw(j)
	if !j.inSlot() {
		s.queue.remove(j)
		return
	}
	s.running = slices.DeleteFunc(s.running, func(r *job) bool { return r == j })
	for _, b := range j.branches {
		if b.drawer != nil {
			s.dropDraft(b.drawer)
		}
		s.vacateSlot(b)
	}
	if len(s.slotActions) > 0 {
		s.keepTicking(s.record.Start) // at once: one may wait for this slot
	}
}

// vacateSlot takes a branch out of its slot.
func (s *Scheduler) vacateSlot(b *branch) {
	s.slots[b.slot], s.conversations[b.slot] = nil, 0
	if b.seq != nil {
		s.cache.Release(b.seq)
		s.conversations[b.slot] = b.seq.Conversation()
	}
	b.seq, b.slot, b.outputRow, b.scheduled = nil, -1, -1, 0
}

// anyGenerates reports whether any slot generates.
func (s *Scheduler) anyGenerates() bool { return slices.ContainsFunc(s.running, (*job).generates) }

// SPDX-License-Identifier: MIT

package scheduler

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/stream"
)

// job is a request on its way through the scheduler.
//
// tokens is the whole answer so far, prompt first; seq holds the KV cells of the first part of it. What is not in seq is
// pending: many tokens while prefilling or after a preemption, exactly one while generating.
type job struct {
	req     Request
	stream  *Stream
	arrival uint64    // counts requests
	due     time.Time // when it came, as its priority counts it

	tokens    []Token
	prompt    int // how many of tokens are prompt
	generated int // tokens drawn, injected ones included and taken-back ones not
	text      text

	slot int               // -1 while queued
	seq  *kvcache.Sequence // nil while queued

	// This tick.
	scheduled int // tokens in the batch
	row       int // output row, -1 for none

	deficit   float64 // prompt tokens this job is owed (deficit round robin)
	started   bool    // the Started event was sent
	paused    bool
	stalled   bool // its reader does not keep up
	awaited   int  // control calls that wait for the reader
	done      bool
	cached    int    // prompt tokens found in the cache at the start
	continued bool   // it went on with a conversation
	leader    *job   // computes what this one waits for
	follow    int    // so many tokens
	sent      uint64 // events

	submitted, admitted, first, last time.Time

	limits     Limits
	vocabulary Vocabulary

	crew     *crew // nil: the tick draws the tokens
	hold     int   // tokens that what is shown is behind
	later    []shownLater
	forced   []Token // of a splice
	probe    [1]Token
	computed int // tokens drawn or forced, taken-back ones included
	counted  int // generated, as the tick knows it
	out      outcome
	deferred []func(*Scheduler) // control calls that came while the crew was at work
}

// newJob checks a request and makes its job and stream.
func (s *Scheduler) newJob(r Request) (*job, error) {
	n := 0
	for _, segment := range r.Prompt {
		n += len(segment.Tokens)
	}
	longest := s.limits.longest()
	switch {
	case n == 0:
		return nil, ErrEmptyPrompt
	case n >= longest:
		return nil, fmt.Errorf("%w: %d tokens, the context has room for %d and one to generate", ErrPromptTooLong, n, longest-1)
	case len(r.Chain) == 0:
		return nil, fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	j := &job{req: r, slot: -1, row: -1, prompt: n, submitted: s.config.Clock()}
	j.tokens = make([]Token, 0, n+max(0, min(r.MaxTokens, longest-n)))
	for _, segment := range r.Prompt {
		for _, t := range segment.Tokens {
			if t < 0 || int(t) >= s.limits.Vocabulary {
				return nil, fmt.Errorf("%w: token %d at position %d is not in the vocabulary of %d", ErrBadRequest, t, len(j.tokens), s.limits.Vocabulary)
			}
			j.tokens = append(j.tokens, t)
		}
	}
	for _, stop := range r.Stop {
		if stop == "" {
			return nil, fmt.Errorf("%w: an empty stop string", ErrBadRequest)
		}
	}
	j.req.Prompt = nil
	j.limits, j.vocabulary = s.limits, s.backend
	j.out.keep = math.MaxInt
	j.hold = holdOf(r.Chain)
	j.text = newText(r.Stop, r.Rules)
	capacity := r.Buffer
	setDefault(&capacity, DefaultBuffer)
	j.stream = newStream(s, j)
	j.stream.ring = stream.New[Event](max(capacity, 2*room), j.stream.nudge)
	if r.Keep {
		j.stream.ring.Keep()
	}
	return j, nil
}

// pending is how many tokens the KV cache still lacks.
func (j *job) pending() int { return len(j.tokens) - j.seq.Len() }

// generating tells whether the job computes one token a tick; a job that does not is prefilling.
func (j *job) generating() bool { return j.generated > 0 && j.pending() == 1 }

// full tells whether the answer may not grow any more.
func (j *job) full() bool {
	return (j.req.MaxTokens > 0 && j.generated >= j.req.MaxTokens) || len(j.tokens) >= j.limits.longest()
}

// room is how many events a tick adds to a stream as a rule: the start, a token and the end. Where it adds more, all that the
// hold window had or a whole splice, the ring grows.
const room = 3

// keepsUp tells whether the reader has left room for what a tick adds.
func (j *job) keepsUp() bool { return j.req.Overflow == DropOldest || j.stream.ring.Reserve(room) }

// ready tells whether the job may take part in this tick: it is not paused, its reader keeps up and no control call waits for that.
func (j *job) ready() bool {
	if j.paused || j.crew.late() || j.crew.resting() {
		return false
	}
	j.stalled = !j.keepsUp()
	return !j.stalled && j.awaited == 0
}

// holdOf is how many tokens a chain may take back.
func holdOf(stages []chain.Stage) int {
	hold := 0
	for _, stage := range stages {
		if h, ok := stage.(chain.Holder); ok {
			hold = max(hold, h.Hold())
		}
	}
	return hold
}

// open lets the stages begin: on the tick where that is quick, else on a goroutine of the job's own.
func (j *job) open(s *Scheduler) {
	if j.req.crewed() {
		j.crew = newCrew(&s.copied, j.req.Trace)
		j.crew.foreign = j.req.foreign()
		j.crew.prepares = slices.ContainsFunc(j.req.Chain, func(stage chain.Stage) bool {
			p, ok := stage.(chain.Preparer)
			return ok && p.Prepares()
		})
		for _, stage := range j.req.Chain {
			if i, ok := stage.(chain.Interruptible); ok {
				j.crew.interruptible = append(j.crew.interruptible, i)
			}
		}
		s.crews.Go(func() { j.crew.run(j) })
		j.crew.orders <- orderOpen
		return
	}
	if err := guarded(func() error { return rewind(j.req.Chain, j) }); err != nil {
		j.fail(err)
		s.settle(j)
	}
}

// close frees the stages, on their goroutine where they have one: they may be at work.
func (j *job) close() {
	if j.crew != nil {
		j.crew.orders <- orderClose
		return
	}
	closeStages(j.req.Chain, j.req.Rules)
}

func closeStages(stages []chain.Stage, rules []answer.StopRule) {
	// What Close may report concerns nobody: the request is over.
	for _, st := range stages {
		_ = guarded(st.Close)
	}
	for _, r := range rules {
		_ = guarded(r.Close)
	}
}

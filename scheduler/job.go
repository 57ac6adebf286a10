// SPDX-License-Identifier: MIT

package scheduler

import (
	"fmt"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/stream"
	"github.com/penstock/penstock/scheduler/worker"
)

// job is a request on its way through the scheduler.
//
// answer has the tokens, prompt first; seq holds the KV cells of the first part of them. What is not in seq is pending: many tokens
// while prefilling or after a preemption, exactly one while generating.
type job struct {
	req    Request // without Prompt and Chain
	stream *Stream
	chain  *chain.Chain
	answer *answer.Answer
	worker *worker.Worker // nil: the tick draws the tokens. While it is busy, chain and answer are its own

	// In the queue.
	arrival      uint64    // counts requests
	due          time.Time // when it came, as its priority counts it
	leader       *job      // computes the beginning of this one's prompt, which waits for that
	leaderPrefix int       // how many tokens that is

	// In a slot.
	slot      int               // -1 while queued
	seq       *kvcache.Sequence // nil while queued
	begun     int               // Scheduler.prefilled when it got the slot
	served    int               // Scheduler.ticks when it got the slot or last a part of a chunk
	scheduled int               // tokens in this tick's batch
	row       int               // output row of this tick's pass, -1 for none

	started bool // the Started event was sent
	paused  bool
	stalled bool // its reader does not keep up
	done    bool

	cached    int  // prompt tokens found in the cache at the start
	continued bool // it went on with a conversation
	counted   int  // tokens generated, as of the last event
	times     times
	calls     calls
}

// newJob checks a request and makes its job and stream.
func (s *Scheduler) newJob(r Request) (*job, error) {
	prompt, err := s.prompt(&r)
	if err != nil {
		return nil, err
	}
	if len(r.Chain) == 0 {
		return nil, fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	for _, stop := range r.Stop {
		if stop == "" {
			return nil, fmt.Errorf("%w: an empty stop string", ErrBadRequest)
		}
	}
	j := &job{req: r, slot: -1, row: -1, times: times{submitted: s.config.Clock()}}
	j.chain = chain.New(r.Chain, s.limits.Vocabulary, r.Trace)
	j.answer = answer.New(j.chain, prompt, answer.Settings{MaxTokens: r.MaxTokens, Stop: r.Stop, StopTokens: r.StopTokens,
		IgnoreEOG: r.IgnoreEOG, Rules: r.Rules, Longest: s.limits.longest(), VocabularySize: s.limits.Vocabulary, Vocabulary: s.backend})
	j.req.Prompt, j.req.Chain = nil, nil
	j.stream = newStream(s, j)
	capacity := r.Buffer
	setDefault(&capacity, DefaultBuffer)
	j.stream.ring = stream.New[Event](max(capacity, 2*tickEvents), j.stream.nudge)
	if r.Keep {
		j.stream.ring.Keep()
	}
	return j, nil
}

// prompt checks the tokens of a request's prompt and joins them, with room for those of the answer.
func (s *Scheduler) prompt(r *Request) ([]Token, error) {
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
	}
	tokens := make([]Token, 0, n+max(0, min(r.MaxTokens, longest-n)))
	for _, segment := range r.Prompt {
		for _, t := range segment.Tokens {
			if t < 0 || int(t) >= s.limits.Vocabulary {
				return nil, fmt.Errorf("%w: token %d at position %d is not in the vocabulary of %d", ErrBadRequest, t, len(tokens), s.limits.Vocabulary)
			}
			tokens = append(tokens, t)
		}
	}
	return tokens, nil
}

// pending is how many tokens the KV cache still lacks.
func (j *job) pending() int { return len(j.answer.Tokens()) - j.seq.Len() }

// generating tells whether the job computes one token a tick; a job that does not is prefilling.
func (j *job) generating() bool { return j.answer.Generated() > 0 && j.pending() == 1 }

// tickEvents is how many events a tick adds to a stream as a rule: the start, a token and the end. Where it adds more, all that the
// hold window had or a whole splice, the ring grows.
const tickEvents = 3

// keepsUp tells whether the reader has left room for what a tick adds.
func (j *job) keepsUp() bool {
	return j.req.Overflow == DropOldest || j.stream.ring.Reserve(tickEvents)
}

// ready tells whether the job may take part in this tick: it is not paused, its reader keeps up and no control call waits for that.
func (j *job) ready() bool {
	if j.paused || j.worker.Busy() || j.worker.Resting() {
		return false
	}
	j.stalled = !j.keepsUp()
	return !j.stalled && j.calls.awaitReader == 0
}

// needsWorker tells whether an answer with these stages needs a goroutine of its own: for plugins, or for log-probabilities, which
// cost more than a draw.
func (j *job) needsWorker(stages []chain.Stage) bool {
	return j.metered(stages) || j.req.Trace > 0 || j.req.Logprobs >= 0
}

// metered tells whether an answer with these stages has code in it that may take any time: plugins, or stop rules.
func (j *job) metered(stages []chain.Stage) bool {
	return !chain.Native(stages) || len(j.req.Rules) > 0
}

// open begins a job's answer: on the tick where that is quick, else with a worker.
func (s *Scheduler) open(j *job) {
	if stages := j.chain.Stages(); j.needsWorker(stages) {
		j.worker = worker.New(j.chain, j.answer, worker.Options{Logprobs: j.req.Logprobs, Metered: j.metered(stages),
			Wake: s.inbox.signal, Loans: &s.sampling.loans})
		s.workers.Go(j.worker.Run)
		return
	}
	if err := panics.Try(j.answer.Begin); err != nil {
		j.answer.Fail(err)
		s.emitAlone(j)
	}
}

// close frees stages and rules, on their goroutine where they have one: they may be at work.
func (j *job) close() {
	if j.worker != nil {
		j.worker.Close()
	} else {
		j.answer.Close()
	}
}

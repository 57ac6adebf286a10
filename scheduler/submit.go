// SPDX-License-Identifier: MIT

package scheduler

import (
	"fmt"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/ring"
)

// Submit queues a request and returns the stream of its answer. Whatever it returns, the request's
// stages and rules belong to the scheduler, which closes them. Errors: ErrBadRequest,
// ErrEmptyPrompt, ErrPromptTooLong, ErrQueueFull, ErrQueueShare, ErrClosed.
func (s *Scheduler) Submit(r Request) (*Stream, error) {
	streams, err := s.SubmitAll([]Request{r})
	if err != nil {
		return nil, err
	}
	return streams[0], nil
}

// SubmitAll queues all of some requests or none. Besides Submit's errors there is ErrTooMany:
// there will never be room for so many. They are of the first one's caller.
func (s *Scheduler) SubmitAll(requests []Request) ([]*Stream, error) {
	n, caller := slotsOf(requests), ""
	if len(requests) > 0 {
		caller = requests[0].Caller
	}
	if err := s.inbox.reserve(caller, n); err != nil {
		closeAll(requests)
		return nil, err
	}
	return s.submit(requests, caller, n)
}

// SubmitBuilt is SubmitAll for requests of a caller that take n slots, as many as there are without
// programs, and memory or time to build: it has them built only once there is room for all, which
// no other request can take meanwhile. An error of build is returned as it is; what build has made
// until then is its own to close.
func (s *Scheduler) SubmitBuilt(caller string, n int, build func() ([]Request, error)) ([]*Stream, error) {
	if err := s.inbox.reserve(caller, n); err != nil {
		return nil, err
	}
	built := false
	defer func() {
		if !built { // or it panicked
			s.inbox.ended(caller, n)
		}
	}()
	requests, err := build()
	if err != nil {
		return nil, err
	}
	built = true
	return s.submit(requests, caller, n)
}

// submit queues requests of a caller that room is reserved for.
func (s *Scheduler) submit(requests []Request, caller string, reserved int) (_ []*Stream, err error) {
	queued := false
	defer func() {
		if !queued {
			closeAll(requests)
			s.inbox.ended(caller, reserved)
		}
	}()
	if n := slotsOf(requests); n != reserved {
		return nil, fmt.Errorf("%w: requests for %d slots, room was asked for %d", ErrBadRequest, n, reserved)
	}
	jobs := make([]*job, len(requests))
	streams := make([]*Stream, len(requests))
	mains := map[*program.Program]*job{}
	for i, r := range requests {
		r.Caller = caller
		if jobs[i], err = s.newJob(r, mains[r.Program]); err != nil {
			return nil, err
		}
		if r.Program != nil && mains[r.Program] == nil {
			mains[r.Program] = jobs[i]
		}
		streams[i] = jobs[i].stream
	}
	queued = s.inbox.post(func(s *Scheduler) {
		now := s.config.Clock()
		s.gather(now)
		for _, j := range jobs {
			s.arrivals++
			if j.arrive(s.arrivals, now); j.writer == nil {
				s.queue.push(j)
			}
		}
	})
	if !queued {
		return nil, ErrClosed
	}
	return streams, nil
}

func closeAll(requests []Request) {
	for _, r := range requests {
		answer.Close(r.Chain, r.Rules)
	}
}

// newJob checks a request and makes its job and stream. Writer is the job whose program writes its
// answer; nil: none does, or its own.
func (s *Scheduler) newJob(r Request, writer *job) (*job, error) {
	prompt, err := s.prompt(&r)
	if err != nil {
		return nil, err
	}
	if len(r.Chain) == 0 && r.Program == nil {
		return nil, fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	if r.Slot != nil && (*r.Slot < 0 || *r.Slot >= len(s.slots)) {
		return nil, fmt.Errorf("%w: slot %d of %d slots, which count from 0", ErrBadRequest, *r.Slot, len(s.slots))
	}
	for _, stop := range r.Stop {
		if stop == "" {
			return nil, fmt.Errorf("%w: an empty stop string", ErrBadRequest)
		}
	}
	j := &job{req: r, times: times{submitted: s.config.Clock()}}
	if len(r.Pieces) > 0 {
		j.pieces = s.config.Pieces
		r.AdaptersFrom = j.pieces.Border(prompt, r.AdaptersFrom) // one pass computes a piece
		j.req.AdaptersFrom = r.AdaptersFrom
	}
	j.branch = branch{job: j, slot: -1, outputRow: -1}
	j.branches = []*branch{&j.branch}
	j.scope = scopeOf(&r)
	if r.Program != nil && writer == nil {
		if err := s.newRun(j, &r, prompt); err != nil {
			return nil, err
		}
	}
	j.drawer = drawer{of: &j.branch, chain: chain.New(r.Chain, s.limits.Vocabulary, r.Trace)}
	j.lasting = j.chain.Lasting()
	j.chain.MaskBy(s.backend)
	j.answer = answer.New(j.chain, prompt, answer.Settings{MaxTokens: r.MaxTokens, Stop: r.Stop, StopTokens: r.StopTokens,
		IgnoreEOG: r.IgnoreEOG, Preserved: r.Preserved, Rules: r.Rules, Longest: s.limits.longest(), Shift: r.Shift, Pieces: j.pieces, VocabularySize: s.limits.Vocabulary, Vocabulary: s.backend})
	if len(r.Begun.Tokens) > 0 {
		if err := s.checkForced(j, r.Begun.Tokens); err != nil {
			return nil, err
		}
		j.answer.BeginWith(r.Begun)
	}
	if writer != nil {
		writer.addChoice(j)
	}
	j.req.Prompt, j.req.Begun, j.req.Chain, j.req.Program = nil, answer.Begun{}, nil, nil
	j.stream = newStream(s, j)
	capacity := r.Buffer
	setDefault(&capacity, DefaultBuffer)
	j.stream.ring = ring.New[answer.Shown](max(capacity, 2*tickEvents), j.stream.nudge)
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
		return nil, &PromptTooLong{Tokens: n, Context: longest}
	}
	tokens := make([]Token, 0, n+max(0, min(r.MaxTokens, longest-n)))
	pieces := len(r.Pieces) > 0 && s.config.Pieces != nil
	for _, segment := range r.Prompt {
		for _, t := range segment.Tokens {
			if t < 0 && !pieces || int(t) >= s.limits.Vocabulary {
				return nil, fmt.Errorf("%w: token %d at position %d is not in the vocabulary of %d", ErrBadRequest, t, len(tokens), s.limits.Vocabulary)
			}
			tokens = append(tokens, t)
		}
	}
	if pieces {
		return tokens, s.checkPieces(r, tokens)
	}
	return tokens, nil
}

// Drain makes Submit refuse new requests; those that it took go on.
func (s *Scheduler) Drain() { s.inbox.drain() }

// Drained is closed once Drain was called and every request has ended.
func (s *Scheduler) Drained() <-chan struct{} { return s.inbox.drained }

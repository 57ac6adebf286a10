// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/portion"
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
// there will never be room for that many. They count for the first one's caller.
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
			s.queue.arrivals++
			if j.arrive(s.queue.arrivals, now); j.kind != kindChoice {
				s.queue.push(j)
			}
		}
	})
	if !queued {
		return nil, ErrClosed
	}
	return streams, nil
}

// slotsOf is how many slots some requests take. What a program shows as a further choice counts as
// one, though it takes none.
func slotsOf(requests []Request) (n int) {
	known := map[*program.Program]bool{nil: true}
	for i := range requests {
		p := requests[i].Program
		if n++; !known[p] {
			n += max(1, p.Branches) - 1
		}
		known[p] = true
	}
	return n
}

func closeAll(requests []Request) {
	for _, r := range requests {
		answer.Close(r.Chain, r.Rules)
	}
}

// newJob checks a request and makes its job and stream. The first request of a program gets the
// program; main is that one's job, and each later one is a further choice of it. nil: there is
// none.
func (s *Scheduler) newJob(r Request, main *job) (*job, error) {
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
	j.scope = scopeOf(&r)
	j.drawer = drawer{job: j, chain: chain.New(r.Chain, s.limits.Vocabulary, r.Trace), logprobs: r.Logprobs}
	switch {
	case r.Program == nil:
		j.drawByItself()
	case main == nil:
		j.kind = kindProgram
		if err := s.newRun(j, &r, prompt); err != nil {
			return nil, err
		}
	default:
		j.kind = kindChoice
	}
	j.lasting = j.drawer.chain.Lasting()
	j.drawer.chain.MaskBy(s.backend)
	j.drawer.answer = answer.New(j.drawer.chain, prompt, answer.Settings{MaxTokens: r.MaxTokens, Stop: r.Stop, StopTokens: r.StopTokens,
		IgnoreEOG: r.IgnoreEOG, Preserved: r.Preserved, Rules: r.Rules, Filters: r.Filters, Longest: s.limits.longest(), Shift: r.Shift, Pieces: j.pieces, VocabularySize: s.limits.Vocabulary, Vocabulary: s.backend})
	j.drawer.release = j.drawer.answer.Close
	if s.config.Cold != nil && j.kind == kindAnswer && j.reusesCells() {
		j.digests = kvcache.DigestsWith(prompt, j.pieces)
	}
	if len(r.Begun.Tokens) > 0 {
		if err := s.checkForced(j, r.Begun.Tokens); err != nil {
			return nil, err
		}
		j.drawer.answer.BeginWith(r.Begun)
	}
	if j.kind == kindChoice {
		main.addChoice(j)
	}
	j.req.Prompt, j.req.Begun, j.req.Chain, j.req.Program = nil, answer.Begun{}, nil, nil
	j.stream = &Stream{id: rand.Text(), scheduler: s, job: j, done: make(chan struct{})}
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

// inbox carries commands from any goroutine to the tick, and counts the requests in the system.
type inbox struct {
	wake    chan struct{}
	drained chan struct{}

	mu       sync.Mutex
	commands []func(*Scheduler)
	requests int          // submitted and not ended, those included that room is reserved for
	room     portion.Pool // for them
	expected int          // on their way to be submitted
	tells    bool         // whether expect was ever called
	draining bool
	closed   bool
}

func newInbox(slots, queue int) *inbox {
	return &inbox{wake: make(chan struct{}, 1), drained: make(chan struct{}), room: portion.Pool{Limit: int64(slots + queue), Free: int64(slots)}}
}

// reserve takes room for n requests of a caller, if there is room for all. They count as submitted
// from then on.
func (in *inbox) reserve(caller string, n int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.draining || in.closed:
		return ErrClosed
	case int64(n) > in.room.Limit:
		return fmt.Errorf("%w: %d, there is room for %d in all", ErrTooMany, n, in.room.Limit)
	case caller != "" && int64(n) > in.room.Most():
		return fmt.Errorf("%w: %d, one client may have %d", ErrTooMany, n, in.room.Most())
	}
	switch in.room.Take(caller, int64(n)) {
	case portion.Enough:
		return ErrQueueShare
	case portion.TooFew:
		return ErrQueueFull
	}
	in.requests += n
	return nil
}

// expect counts requests that are on their way. The tick may wait for the last of them.
func (in *inbox) expect(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.tells = true
	if in.expected += n; in.expected == 0 {
		in.signal()
	}
}

// told reports whether requests are announced at all before they are submitted.
func (in *inbox) told() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.tells
}

func (in *inbox) expects() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.expected > 0
}

// post hands a command to the tick; false: there will be no tick any more.
func (in *inbox) post(command func(*Scheduler)) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	in.commands = append(in.commands, command)
	in.signal()
	return true
}

// ask has the tick run a command and waits until it has. Errors: ErrClosed, the context's, and the
// command's panic.
func (s *Scheduler) ask(ctx context.Context, command func(*Scheduler)) error {
	done := make(chan error, 1)
	ran := func(s *Scheduler) {
		err := panics.Try(func() error { command(s); return nil })
		s.logPanic(err)
		done <- err
	}
	if !s.inbox.post(ran) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signal wakes the tick if it sleeps, or else lets it look once more before it does.
func (in *inbox) signal() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// swap takes the commands against an empty slice, whose memory is used again.
func (in *inbox) swap(spare []func(*Scheduler)) []func(*Scheduler) {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := in.commands
	in.commands = spare[:0]
	return taken
}

// count is how many requests are submitted and not ended.
func (in *inbox) count() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.requests
}

// ended counts requests of a caller out.
func (in *inbox) ended(caller string, n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.requests -= n
	in.room.Give(caller, int64(n))
	in.checkDrained()
}

func (in *inbox) drain() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.draining {
		in.draining = true
		in.checkDrained()
	}
}

func (in *inbox) checkDrained() {
	if in.draining && in.requests == 0 {
		close(in.drained)
	}
}

func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
}

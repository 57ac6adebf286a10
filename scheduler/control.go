// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
	"fmt"
)

// errNotYet is a control call's way to be tried again in the next tick.
var errNotYet = errors.New("not yet")

// Pause keeps the answer from growing until Resume. Its slot goes to others that wait for one.
func (st *Stream) Pause(ctx context.Context) error {
	return st.control(ctx, func(_ *Scheduler, j *job) error { j.paused = true; return nil })
}

// Resume undoes Pause.
func (st *Stream) Resume(ctx context.Context) error {
	return st.control(ctx, func(_ *Scheduler, j *job) error { j.paused = false; return nil })
}

// SetChain replaces the sampler chain, from the next token on. The stages belong to the scheduler, whatever it returns.
// A chain of one native stage can be replaced by another such, any other by any other: ErrBadRequest where not.
func (st *Stream) SetChain(ctx context.Context, chain []Stage) error {
	if len(chain) == 0 {
		return fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	err := st.control(ctx, func(_ *Scheduler, j *job) error {
		if next := (Request{Chain: chain, Trace: j.req.Trace}); j.slot >= 0 && next.crewed() != (j.crew != nil) {
			return fmt.Errorf("%w: plugins cannot be added to a running answer, nor all be removed", ErrBadRequest)
		}
		if err := rewind(chain, j); err != nil {
			return err
		}
		closeStages(j.req.Chain, nil)
		j.req.Chain, j.hold = chain, max(j.hold, holdOf(chain))
		return nil
	})
	if err != nil {
		closeStages(chain, nil)
	}
	return err
}

// Inject appends tokens to the answer as if the chain had chosen them. They are shown, count as generated and end the
// answer where they complete a stop string or reach a limit.
func (st *Stream) Inject(ctx context.Context, tokens []Token) error {
	return st.control(ctx, func(s *Scheduler, j *job) error {
		if n := len(j.tokens) + len(tokens); n >= s.limits.longest() {
			return fmt.Errorf("%w: %d tokens would make %d, the context has %d", ErrBadRequest, len(tokens), n, s.limits.longest())
		}
		if most := j.stream.ring.Cap() - room; len(tokens) > most {
			return fmt.Errorf("%w: %d tokens, the stream's buffer takes %d at once", ErrBadRequest, len(tokens), most)
		}
		if !j.stream.ring.Reserve(len(tokens) + room) {
			return errNotYet // the reader's next read wakes the tick
		}
		for _, t := range tokens {
			if t < 0 || int(t) >= s.limits.Vocabulary {
				return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrBadRequest, t, s.limits.Vocabulary)
			}
		}
		for _, t := range tokens {
			if j.grow(t, about{}, false); j.out.ended {
				break
			}
		}
		s.settle(j)
		return nil
	})
}

// Rewind takes the last n tokens of the answer back; the next one is drawn in their place. Text that was shown stays
// shown: the reader knows what it asked for.
func (st *Stream) Rewind(ctx context.Context, n int) error {
	return st.control(ctx, func(s *Scheduler, j *job) error {
		if n < 1 || n > len(j.tokens)-j.prompt {
			return fmt.Errorf("%w: rewind by %d, the answer has %d tokens", ErrBadRequest, n, len(j.tokens)-j.prompt)
		}
		j.takeBack(n)
		j.text.forget()
		err := rewind(j.req.Chain, j)
		if err != nil {
			j.fail(err)
		}
		s.settle(j)
		return err
	})
}

func rewind(chain []Stage, j *job) error {
	for _, stage := range chain {
		if err := stage.Rewind(j.tokens, j.prompt); err != nil {
			return err
		}
	}
	return nil
}

// control runs f in the tick and returns its error, ErrEnded for an ended stream, or the context's. While the stages are
// at work on their own goroutine it waits for them.
func (st *Stream) control(ctx context.Context, f func(*Scheduler, *job) error) error {
	answer := make(chan error, 1)
	j := st.job
	posted := st.scheduler.inbox.post(func(s *Scheduler) {
		var run func()
		run = func() {
			if j.done {
				answer <- ErrEnded
				return
			}
			err := f(s, j)
			if errors.Is(err, errNotYet) {
				s.retries = append(s.retries, run)
				return
			}
			answer <- err
		}
		if j.crew.late() && !j.done {
			j.deferred = append(j.deferred, run)
			return
		}
		run()
	})
	if !posted {
		return ErrEnded
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *job) runDeferred() {
	for _, run := range j.deferred {
		run()
	}
	j.deferred = nil
}

// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"fmt"
)

// Pause keeps the answer from growing until Resume. Its slot goes to others that wait for one.
func (st *Stream) Pause(ctx context.Context) error {
	return st.control(ctx, func(_ *Scheduler, j *job) error { j.paused = true; return nil })
}

// Resume undoes Pause.
func (st *Stream) Resume(ctx context.Context) error {
	return st.control(ctx, func(_ *Scheduler, j *job) error { j.paused = false; return nil })
}

// SetChain replaces the sampler chain, from the next token on. The stages belong to the scheduler, whatever it returns.
func (st *Stream) SetChain(ctx context.Context, chain []Stage) error {
	if len(chain) == 0 {
		return fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	err := st.control(ctx, func(_ *Scheduler, j *job) error {
		if err := rewind(chain, j); err != nil {
			return err
		}
		closeStages(j.req.Chain, nil)
		j.req.Chain = chain
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
		if n := len(j.tokens) + len(tokens); n >= s.longest() {
			return fmt.Errorf("%w: %d tokens would make %d, the context has %d", ErrBadRequest, len(tokens), n, s.longest())
		}
		if !j.stream.ring.Reserve(len(tokens) + room) {
			return fmt.Errorf("%w: %d tokens, the reader must take what is there first", ErrBadRequest, len(tokens))
		}
		for _, t := range tokens {
			if t < 0 || int(t) >= s.limits.Vocabulary {
				return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrBadRequest, t, s.limits.Vocabulary)
			}
		}
		for _, t := range tokens {
			if s.grow(j, t, nil); j.done {
				break
			}
		}
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
		j.tokens = j.tokens[:len(j.tokens)-n]
		j.generated -= n
		j.text.forget()
		if err := rewind(j.req.Chain, j); err != nil {
			s.fail(j, err)
			return err
		}
		if j.seq != nil { // at least one token must be pending, or there is no row to draw from
			s.cache.truncate(j.seq, min(len(j.seq.tokens), len(j.tokens)-1))
		}
		return nil
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

// control runs f in the tick and returns its error, ErrEnded for an ended stream, or the context's.
func (st *Stream) control(ctx context.Context, f func(*Scheduler, *job) error) error {
	answer := make(chan error, 1)
	posted := st.scheduler.inbox.post(func(s *Scheduler) {
		if st.job.done {
			answer <- ErrEnded
			return
		}
		answer <- f(s, st.job)
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

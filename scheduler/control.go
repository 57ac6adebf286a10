// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/chain"
)

// Pause keeps the answer from growing until Resume. Its slot goes to others that wait for one.
func (st *Stream) Pause(ctx context.Context) error {
	return st.control(ctx, call{check: func(_ *Scheduler, j *job) error { j.paused = true; return nil }})
}

// Resume undoes Pause.
func (st *Stream) Resume(ctx context.Context) error {
	return st.control(ctx, call{check: func(_ *Scheduler, j *job) error { j.paused = false; return nil }})
}

// SetChain replaces the sampler chain, from the next token on. The stages belong to the scheduler, whatever it returns.
// ErrBadRequest where the answer has plugins, or the new chain has.
func (st *Stream) SetChain(ctx context.Context, stages []chain.Stage) error {
	if len(stages) == 0 {
		return fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	return st.control(ctx, call{
		check: func(_ *Scheduler, j *job) error {
			next := j.req
			next.Chain = stages
			if prepares(stages) || prepares(j.req.Chain) || j.started && next.crewed() != (j.crew != nil) {
				return fmt.Errorf("%w: the sampling of an answer with plugins stays as it began, and none can be added to one without", ErrBadRequest)
			}
			return nil
		},
		work: func(j *job) error {
			if err := j.rewindStages(stages); err != nil {
				closeStages(stages, nil)
				return err
			}
			closeStages(j.req.Chain, nil)
			j.req.Chain, j.hold = stages, max(j.hold, holdOf(stages))
			return nil
		},
		drop: func() { closeStages(stages, nil) },
	})
}

// prepares tells whether a chain has stages that compute beside the forward pass, as plugins are.
func prepares(stages []chain.Stage) bool {
	return slices.ContainsFunc(stages, func(s chain.Stage) bool { _, ok := s.(chain.Preparer); return ok })
}

// Inject appends tokens to the answer as if the chain had chosen them. They are shown, count as generated and end the
// answer where they complete a stop string or reach a limit.
func (st *Stream) Inject(ctx context.Context, tokens []Token) error {
	return st.control(ctx, call{
		check: func(s *Scheduler, j *job) error { return s.checkInjection(j, tokens) },
		work: func(j *job) error {
			for _, t := range tokens {
				if j.grow(t, about{}, false); j.out.ended {
					break
				}
			}
			return nil
		},
	})
}

func (s *Scheduler) checkInjection(j *job, tokens []Token) error {
	if n := len(j.tokens) + len(tokens); n >= s.limits.longest() {
		return fmt.Errorf("%w: %d tokens would make %d, the context has %d", ErrBadRequest, len(tokens), n, s.limits.longest())
	}
	for _, t := range tokens {
		if t < 0 || int(t) >= s.limits.Vocabulary {
			return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrBadRequest, t, s.limits.Vocabulary)
		}
	}
	if !j.keepsUp() {
		return errNotYet // the reader's next read wakes the tick
	}
	return nil
}

// Rewind takes the last n tokens of the answer back; the next one is drawn in their place. Text that was shown stays
// shown: the reader knows what it asked for. Text that was held back for the tokens that stay comes with the next ones.
func (st *Stream) Rewind(ctx context.Context, n int) error {
	return st.control(ctx, call{
		check: func(_ *Scheduler, j *job) error {
			if n < 1 || n > len(j.tokens)-j.prompt {
				return fmt.Errorf("%w: rewind by %d, the answer has %d tokens", ErrBadRequest, n, len(j.tokens)-j.prompt)
			}
			return nil
		},
		work: func(j *job) error {
			j.takeBack(n)
			err := j.rewindStages(j.req.Chain)
			if err != nil {
				j.fail(err)
			}
			return err
		},
	})
}

// rewindStages tells the stages of a chain what the answer is now. Before the job has a slot they have not begun; they
// are told when they do.
func (j *job) rewindStages(stages []chain.Stage) error {
	if !j.started {
		return nil
	}
	return rewind(stages, j)
}

func rewind(stages []chain.Stage, j *job) error {
	for _, stage := range stages {
		if err := stage.Rewind(j.tokens, j.prompt); err != nil {
			return err
		}
	}
	return nil
}

// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Pause keeps the answer from growing until Resume, with all that a program writes beside it. Its
// slot goes to others that wait for one.
func (st *Stream) Pause(ctx context.Context) error {
	return st.control(ctx, call{check: func(_ *Scheduler, j *job) error { j.main().paused = true; return nil }})
}

// Resume undoes Pause.
func (st *Stream) Resume(ctx context.Context) error {
	return st.control(ctx, call{check: func(_ *Scheduler, j *job) error { j.main().paused = false; return nil }})
}

// SetChain replaces the sampler chain, from the next token on. The plugins of the answer go on in
// it: chain.Keep stands for each of them. The stages belong to the scheduler, whatever it returns.
// ErrBadRequest if a plugin is missing or added.
func (st *Stream) SetChain(ctx context.Context, stages []chain.Stage) error {
	if len(stages) == 0 {
		return fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	return st.control(ctx, call{
		check: func(s *Scheduler, j *job) error {
			if err := j.errProgram("another chain for"); err != nil {
				return err
			}
			if err := j.chain.CanReplace(stages); err != nil {
				return fmt.Errorf("%w: %w", ErrBadRequest, err)
			}
			if j.started && chain.Guarded(stages) {
				s.giveBackground(&j.drawer, true) // a grammar reads the whole answer first
			}
			return nil
		},
		work: func(a *answer.Answer) error { return a.SetStages(stages) },
		drop: func() { chain.Close(stages) },
	})
}

// Inject appends tokens to the answer as if the chain had chosen them. They are shown, count as
// generated and end the answer if they complete a stop string or reach a limit.
func (st *Stream) Inject(ctx context.Context, tokens []Token) error {
	return st.control(ctx, call{
		check: func(s *Scheduler, j *job) error { return s.checkInjection(j, tokens) },
		work: func(a *answer.Answer) error {
			a.Inject(tokens)
			return nil
		},
	})
}

func (s *Scheduler) checkInjection(j *job, tokens []Token) error {
	if err := j.errProgram("tokens for"); err != nil {
		return err
	}
	if err := s.checkForced(j, tokens); err != nil {
		return err
	}
	if !j.keepsUp() {
		return errNotYet // the reader's next read wakes the tick
	}
	return nil
}

// checkForced refuses tokens that cannot be appended to an answer.
func (s *Scheduler) checkForced(j *job, tokens []Token) error {
	if n := len(j.answer.Expected()) + len(tokens); n >= s.limits.longest() && j.req.Shift == nil {
		return fmt.Errorf("%w: %d tokens would make %d, the context has %d", ErrBadRequest, len(tokens), n, s.limits.longest())
	}
	return s.checkVocabulary(tokens)
}

// checkVocabulary refuses tokens that the model does not have.
func (s *Scheduler) checkVocabulary(tokens []Token) error {
	for _, t := range tokens {
		if t < 0 || int(t) >= s.limits.Vocabulary {
			return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrBadRequest, t, s.limits.Vocabulary)
		}
	}
	return nil
}

// Rewind takes the last n tokens of the answer back; the next one is drawn in their place. A
// Rewound event tells which of them, and how much of their text, the reader was sent. Text that
// was held back for the tokens that stay comes with the next ones.
func (st *Stream) Rewind(ctx context.Context, n int) error {
	return st.control(ctx, call{
		check: func(_ *Scheduler, j *job) error {
			if err := j.errProgram("to rewind"); err != nil {
				return err
			}
			if has := len(j.answer.Tokens()) - j.answer.PromptLen() + len(j.answer.Early()); n < 1 || n > has {
				return fmt.Errorf("%w: rewind by %d, the answer has %d tokens", ErrBadRequest, n, has)
			}
			return nil
		},
		work: func(a *answer.Answer) error { return a.Rewind(n) },
	})
}

// Conversation is the prompt and the answer so far, with those tokens that are not shown yet. With
// the answer as Request.Begun, another request for the same prompt goes on from there as a fork of
// this one, and shares its cells.
func (st *Stream) Conversation(ctx context.Context) (prompt []Token, answered answer.Begun, err error) {
	err = st.control(ctx, call{check: func(_ *Scheduler, j *job) error {
		prompt, answered = slices.Clone(j.answer.Tokens()[:j.answer.PromptLen()]), j.answer.Answered()
		return nil
	}})
	return prompt, answered, err
}

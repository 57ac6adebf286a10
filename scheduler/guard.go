// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/scheduler/chain"
)

var (
	errEmptyMask    = fmt.Errorf("%w: mask or bans leave no token that the other plugins allow", chain.ErrNotAllowed)
	errAnswerSplice = errors.New("a splice in answer to a token that was spliced itself")
)

// refuse tells a stage that what it asked for is not done. An error ends the request.
func (j *job) refuse(by int, act chain.Act, why error) error {
	if stage, ok := j.req.Chain[by].(chain.Answerable); ok {
		return stage.Refuse(act, why)
	}
	return fmt.Errorf("stage %d of the chain: %w", by, why)
}

// guard is the stage that knows which tokens the request allows, and its place; nil where there is none.
func (j *job) guard() (chain.Guard, int) {
	for i, stage := range j.req.Chain {
		if g, ok := stage.(chain.Guard); ok && g.Guards() {
			return g, i
		}
	}
	return nil, -1
}

// notAllowed is why the token that stage by asks for may not come next; nil where it may. A guard answers for its own.
func (j *job) notAllowed(by int, t Token) (why, err error) {
	g, at := j.guard()
	if g == nil || at == by {
		return nil, nil
	}
	j.probe[0] = t
	n, err := g.Fits(j.probe[:])
	if n < 1 {
		why = fmt.Errorf("%w: token %d does not fit its grammar here", chain.ErrNotAllowed, t)
	}
	return why, err
}

// misfit is why the tokens of a splice may not follow what it leaves of the answer; nil where they may. The guard has seen the
// last token of the answer only if it stands before the stage that splices.
func (j *job) misfit(by int, e chain.Effect) (why, err error) {
	g, at := j.guard()
	if g == nil || len(e.Tokens) == 0 {
		return nil, nil
	}
	seen, want := len(j.tokens), len(j.tokens)-e.Backtrack
	if at > by {
		seen--
	}
	stage := j.req.Chain[at]
	if want < seen {
		if err := stage.Rewind(j.tokens[:want], j.prompt); err != nil {
			return nil, err
		}
	}
	ahead := append(append([]Token(nil), j.tokens[min(seen, want):want]...), e.Tokens...)
	n, err := g.Fits(ahead)
	if err != nil || n == len(ahead) {
		return nil, err
	}
	if want < seen {
		err = stage.Rewind(j.tokens[:seen], j.prompt)
	}
	return fmt.Errorf("%w: token %d of the splice does not fit its grammar there", chain.ErrNotAllowed, ahead[n]), err
}

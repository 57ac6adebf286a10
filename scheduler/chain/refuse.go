// SPDX-License-Identifier: MIT

package chain

import "fmt"

var errEmptyMask = fmt.Errorf("%w: mask or bans leave no token that the other plugins allow", ErrNotAllowed)

// Refuse tells a stage that what it asked for is not done. An error ends the request.
func (c *Chain) Refuse(by int, act Act, why error) error {
	if stage, ok := c.stages[by].(Answerable); ok {
		return stage.Refuse(act, why)
	}
	return fmt.Errorf("stage %d of the chain: %w", by, why)
}

// guard is the stage that knows which tokens the request allows, and its place; nil where there is none.
func (c *Chain) guard() (Guard, int) {
	for i, stage := range c.stages {
		if g, ok := stage.(Guard); ok && g.Guards() {
			return g, i
		}
	}
	return nil, -1
}

// notAllowed is why the token that stage by asks for may not come next; nil where it may. A guard answers for its own.
func (c *Chain) notAllowed(by int, t Token) (why, err error) {
	g, at := c.guard()
	if g == nil || at == by {
		return nil, nil
	}
	c.single[0] = t
	n, err := g.Fits(c.single[:])
	if n < 1 {
		why = fmt.Errorf("%w: token %d does not fit its grammar here", ErrNotAllowed, t)
	}
	return why, err
}

// Misfit is why the tokens of a splice may not follow what it leaves of the answer; nil where they may. The guard has seen the
// last token of the answer only if it stands before the stage that splices.
func (c *Chain) Misfit(by int, e Effect, history []Token, prompt int) (why, err error) {
	g, at := c.guard()
	if g == nil || len(e.Tokens) == 0 {
		return nil, nil
	}
	seen, want := len(history), len(history)-e.Backtrack
	if at > by {
		seen--
	}
	stage := c.stages[at]
	if want < seen {
		if err := stage.Rewind(history[:want], prompt); err != nil {
			return nil, err
		}
	}
	ahead := append(append([]Token(nil), history[min(seen, want):want]...), e.Tokens...)
	n, err := g.Fits(ahead)
	if err != nil || n == len(ahead) {
		return nil, err
	}
	if want < seen {
		err = stage.Rewind(history[:seen], prompt)
	}
	return fmt.Errorf("%w: token %d of the splice does not fit its grammar there", ErrNotAllowed, ahead[n]), err
}

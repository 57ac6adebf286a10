// SPDX-License-Identifier: MIT

package chain

import (
	"fmt"
	"slices"
)

// Guard is a stage that knows which tokens the request allows: it has a grammar. What other stages choose, force or splice
// is tested against it.
type Guard interface {
	// Guards reports whether there is anything to test.
	Guards() bool
	// Fits tells how many of the tokens may come next, one after the other. It changes nothing.
	Fits(tokens []Token) (int, error)
}

// Guarded reports whether there is a stage that knows which tokens the request allows.
func Guarded(stages []Stage) bool { return guardOf(stages) >= 0 }

// guardOf is the place of that stage, or -1.
func guardOf(stages []Stage) int {
	return slices.IndexFunc(stages, func(s Stage) bool { g, ok := s.(Guard); return ok && g.Guards() })
}

// guard is the stage that knows which tokens the request allows, and its place; nil if there is none.
func (c *Chain) guard() (Guard, int) {
	if at := guardOf(c.stages); at >= 0 {
		return c.stages[at].(Guard), at
	}
	return nil, -1
}

// misfit is why the tokens that stage by asks for may not come next, one after the other; nil if they may. A guard answers for its own.
func (c *Chain) misfit(by int, tokens []Token) (why, err error) {
	g, at := c.guard()
	if g == nil || at == by {
		return nil, nil
	}
	n, err := g.Fits(tokens)
	if n < len(tokens) {
		why = fmt.Errorf("%w: token %d does not fit its grammar %s", ErrNotAllowed, tokens[n], [...]string{"here", "after those before it"}[min(n, 1)])
	}
	return why, err
}

// tokenMisfit is misfit for one token.
func (c *Chain) tokenMisfit(by int, t Token) (why, err error) {
	c.single[0] = t
	return c.misfit(by, c.single[:])
}

// SpliceMisfit is why the tokens of a splice may not follow what it leaves of the answer; nil if they may. The guard has seen the
// last token of the answer only if it stands before the stage that splices.
func (c *Chain) SpliceMisfit(by int, e Effect, history []Token, prompt int) (why, err error) {
	g, at := c.guard()
	if g == nil || len(e.Tokens) == 0 {
		return nil, nil
	}
	seen, want := len(history), len(history)-int(e.Backtrack)
	if at > by {
		seen--
	}
	stage := c.stages[at]
	if want < seen {
		if err := stage.Reset(history[:want], prompt); err != nil {
			return nil, err
		}
	}
	ahead := append(append([]Token(nil), history[min(seen, want):want]...), e.Tokens...)
	n, err := g.Fits(ahead)
	if err != nil || n == len(ahead) {
		return nil, err
	}
	if want < seen {
		err = stage.Reset(history[:seen], prompt)
	}
	return fmt.Errorf("%w: token %d of the splice does not fit its grammar there", ErrNotAllowed, ahead[n]), err
}

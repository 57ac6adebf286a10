// SPDX-License-Identifier: MIT

package chain

import (
	"fmt"
	"slices"
)

// Guarded reports whether there is a stage that knows which tokens the request allows.
func Guarded(stages []Stage) bool {
	return slices.ContainsFunc(stages, func(s Stage) bool { return s.Traits().Guards })
}

// misfit is why the tokens that stage by asks for may not come next, one after the other; nil if
// they may. A guard answers for its own.
func (c *Chain) misfit(by int, tokens []Token) (why, err error) {
	if c.guard == nil || c.guardAt == by {
		return nil, nil
	}
	n, err := c.guard.Fits(tokens)
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

// SpliceMisfit is why the tokens of a splice may not follow what it leaves of the answer; nil if
// they may. The guard has seen the last token of the answer only if it stands before the stage
// that splices.
func (c *Chain) SpliceMisfit(by int, e Effect, history []Token, prompt int) (why, err error) {
	if c.guard == nil || len(e.Tokens) == 0 {
		return nil, nil
	}
	seen, want := len(history), len(history)-int(e.Backtrack)
	if c.guardAt > by {
		seen--
	}
	stage := c.stages[c.guardAt]
	if want < seen {
		if err := stage.Reset(history[:want], prompt); err != nil {
			return nil, err
		}
	}
	ahead := append(append([]Token(nil), history[min(seen, want):want]...), e.Tokens...)
	n, err := c.guard.Fits(ahead)
	if err != nil || n == len(ahead) {
		return nil, err
	}
	if want < seen {
		err = stage.Reset(history[:seen], prompt)
	}
	return fmt.Errorf("%w: token %d of the splice does not fit its grammar there", ErrNotAllowed, ahead[n]), err
}

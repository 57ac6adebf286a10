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

// What stages force, choose and splice is also tested against the masks of those whose masks bind
// others.

// TakeBack is how many tokens more than usual the answer may compute.
func (c *Chain) TakeBack() (most int) {
	for i := range c.links {
		most = max(most, c.links[i].traits.TakeBack)
	}
	return most
}

// maskMisfit is why a token that stage by asks for is not allowed by what was prepared; nil if it
// is.
func (c *Chain) maskMisfit(by int, t Token) error {
	for i := range c.links {
		if i == by || !c.links[i].traits.Strict || i >= len(c.restriction.asked) {
			continue
		}
		if mask := c.restriction.asked[i].Mask; len(mask) > 0 && !allows(mask, t) {
			return c.links[i].forbids(t)
		}
	}
	return nil
}

// StrictMisfit is why a token that stage by puts into the answer after others is not allowed by
// the masks that bind it; nil if it is. The stages that have such masks prepare them for it.
func (c *Chain) StrictMisfit(by int, t Token) (why, err error) {
	for i := range c.links {
		l := &c.links[i]
		if i == by || !l.traits.Strict || l.preparer == nil {
			continue
		}
		p, err := l.preparer.Prepare()
		if err != nil {
			return nil, err
		}
		if len(p.Mask) > 0 && !allows(p.Mask, t) {
			return l.forbids(t), nil
		}
	}
	return nil, nil
}

func (l *link) forbids(t Token) error {
	return fmt.Errorf("%w: token %d is not allowed by the mask of %s", ErrNotAllowed, t, l.name)
}

// allows reports whether a mask allows a token.
func allows(mask []uint32, t Token) bool {
	word := int(t) / 32
	return t >= 0 && word < len(mask) && mask[word]>>(t%32)&1 == 1
}

// Act is what a stage asked for and was refused.
type Act uint8

// The acts that can be refused.
const (
	ActMask   Act = iota + 1 // Prepare: with its mask and its bans no token is left
	ActForce                 // Prepare: a forced token that the request does not allow
	ActChoose                // Apply: a chosen one
	ActSplice                // Accept: tokens taken back too far or too often, or put where they are not allowed
)

// Refuse tells a stage that what it asked for is not done. An error ends the request.
func (c *Chain) Refuse(by int, act Act, why error) error {
	if refuse := c.links[by].traits.Refuse; refuse != nil {
		return refuse(act, why)
	}
	return fmt.Errorf("stage %d of the chain: %w", by, why)
}

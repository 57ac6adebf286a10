// SPDX-License-Identifier: MIT

package chain

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Guarded reports whether there is a stage that knows which tokens the request allows.
func Guarded(stages []Stage) bool {
	return slices.ContainsFunc(stages, func(s Stage) bool { return s.Traits().Guards })
}

// whyMisfit is why the tokens that stage by asks for may not come next, one after the other; nil if
// they may. A guard answers for its own.
func (c *Chain) whyMisfit(by int, tokens []Token) (why, err error) {
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
	return c.whyMisfit(by, c.single[:])
}

// SpliceMisfit is why the tokens of a splice may not follow what it leaves of the answer; nil if
// they may. The guard has seen the last token of the answer only if it is told before the stage
// that splices.
func (c *Chain) SpliceMisfit(by int, e Effect, history []Token, prompt int) (why, err error) {
	if c.guard == nil || len(e.Tokens) == 0 {
		return nil, nil
	}
	seen, want := len(history), len(history)-int(e.Backtrack)
	if c.guardAt > by || c.Required(by) {
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
		if l := &c.links[i]; i != by && i < len(c.restriction.asked) && l.binds() && !l.admits(&c.restriction.asked[i], t) {
			return l.forbids(t)
		}
	}
	return nil
}

// binds reports whether what the stage prepares binds other stages.
func (l *link) binds() bool { return l.traits.Strict || l.judge != nil }

// admits reports whether a token is one of those that the stage has prepared for. Of a stage that
// is strict, only its mask binds others.
func (l *link) admits(p *Prepared, t Token) bool {
	if len(p.Mask) > 0 && !allows(p.Mask, t) {
		return false
	}
	return l.judge == nil || (len(p.Forced) == 0 || p.Forced[0] == t) && !bans(p.Bias, t)
}

// bans reports whether biases ban a token.
func bans(biases []Bias, t Token) bool {
	return slices.ContainsFunc(biases, func(b Bias) bool { return b.Token == t && b.bans() })
}

// UndrawnMisfit is why a token that comes without a draw is not allowed by the stages that bind
// others; nil if it is. It comes from stage by, or from a client if that is below 0, whom only the
// required stages bind. The stages prepare for it, and those that are required judge it.
func (c *Chain) UndrawnMisfit(by int, t Token) (why, err error) {
	for i := range c.links {
		l := &c.links[i]
		if i == by || l.judge == nil && (by < 0 || !l.traits.Strict) {
			continue
		}
		if l.preparer != nil {
			p, err := l.preparer.Prepare()
			if err != nil {
				return nil, err
			}
			if !l.admits(&p, t) {
				return l.forbids(t), nil
			}
		}
	}
	return c.whyNotAllowed(by, t, 0)
}

// whyNotAllowed is why a token that stage by asks for is not allowed by a required one; nil if it
// is. Those at the places below drawn have been shown what the token was drawn from: what they have
// left needs no other judgement.
func (c *Chain) whyNotAllowed(by int, t Token, drawn int) (why, err error) {
	for _, i := range c.required {
		l := &c.links[i]
		if i == by || i < drawn && (l.leftAll || allows(l.left, t)) {
			continue
		}
		if ok, err := l.judge.Allows(t); !ok || err != nil {
			return l.forbids(t), err
		}
	}
	return nil, nil
}

// noteLeft notes what a required stage has left of the candidates.
func (c *Chain) noteLeft(i int) {
	l, v := &c.links[i], &c.view
	if l.leftAll = v.N < 0 && v.Row == nil; l.leftAll {
		return
	}
	l.left = slices.Grow(l.left[:0], (c.vocabulary+31)/32)[:(c.vocabulary+31)/32]
	clear(l.left)
	if v.N < 0 {
		for t, x := range v.Row[:min(len(v.Row), c.vocabulary)] {
			if x >= -math.MaxFloat32 {
				l.left[t/32] |= 1 << (t % 32)
			}
		}
		return
	}
	for n, t := range v.ID[:v.N] {
		if v.Logit[n] >= -math.MaxFloat32 && t >= 0 && int(t) < c.vocabulary {
			l.left[t/32] |= 1 << (t % 32)
		}
	}
}

func (l *link) forbids(t Token) error {
	if l.judge != nil {
		return fmt.Errorf("%w: token %d is not allowed by %s, which the server requires", ErrNotAllowed, t, l.name)
	}
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

// Refuse tells a stage that what it asked for is not done. An error ends the request. It is no
// fault of a required stage that the request demands what that does not allow.
func (c *Chain) Refuse(by int, act Act, why error) error {
	if c.Required(by) && errors.Is(why, ErrNotAllowed) {
		return fmt.Errorf("%s, which the server requires: %w", c.links[by].name, why)
	}
	if refuse := c.links[by].traits.Refuse; refuse != nil {
		return refuse(act, why)
	}
	return fmt.Errorf("stage %d of the chain: %w", by, why)
}

// SPDX-License-Identifier: MIT

package chain

import (
	"errors"
	"fmt"
)

var (
	errNoCandidate = errors.New("the sampler chain chose no token")
	errNoRow       = errors.New("the forward pass has no logits for this answer")
)

// Prepare asks the stages for masks, biases and forced tokens. It may run beside the forward pass
// that computes the row.
func (c *Chain) Prepare() error {
	c.tracer.clear()
	r := &c.restriction
	r.clear(len(c.stages))
	for i := range c.links {
		l := &c.links[i]
		if l.preparer == nil {
			continue
		}
		c.tracer.enter()
		prepared, err := l.preparer.Prepare()
		if err != nil {
			return err
		}
		c.tracer.prepares(l.name, prepared)
		r.set(i, prepared)
	}
	return r.join(c)
}

// Draw turns the row into a token: it applies what was prepared and runs the stages. If masks and
// bans leave no token that grammar and biases of the request allow, the last stage that took one
// away is refused; if the request goes on without it, the stages run again. Without a row there is
// no token, not even a forced one: the pass has failed. The trace is nil if none is wanted.
func (c *Chain) Draw(row *Row) (Token, *Trace, error) {
	if row.missing() {
		return -1, nil, errNoRow
	}
	r := &c.restriction
	if len(r.forced) > 0 {
		return r.forced[0], c.tracer.forced(row, r.forced[0], c.links[r.forcedBy].name), nil
	}
	for {
		t, err := c.run(row)
		if r.narrowedBy < 0 || !errors.Is(err, ErrNoToken) {
			return t, c.tracer.finish(t), err
		}
		why := fmt.Errorf("%w: mask or bans leave nothing of it: %w", ErrNotAllowed, err)
		if err := c.Refuse(r.narrowedBy, ActMask, why); err != nil {
			return -1, nil, err
		}
		r.unset(r.narrowedBy)
		if err := r.join(c); err != nil {
			return -1, nil, err
		}
	}
}

// Following are the tokens that are to follow the one that Draw returned, and the stage that
// forced them all; there may be none. They are valid until the next Prepare.
func (c *Chain) Following() (tokens []Token, by int) {
	r := &c.restriction
	return r.forced[min(1, len(r.forced)):], r.forcedBy
}

// run runs the stages once, up to the one that chooses a token. What a plugin chooses is tested.
func (c *Chain) run(row *Row) (Token, error) {
	v := &c.view
	v.Row, v.N, v.Chosen, v.Bias = nil, -1, -1, nil
	if c.tracer != nil {
		v.Row = row.Copy()
		c.tracer.begin(v)
		if r := &c.restriction; !r.none() {
			v.Row = row.restricted(r)
			c.tracer.restrict(v)
		}
	}
	for i, stage := range c.stages {
		c.giveRow(i, row)
		c.tracer.enter()
		if err := stage.Apply(v); err != nil {
			return -1, err
		}
		if v.Chosen >= 0 {
			why, err := c.tokenMisfit(i, v.Chosen)
			if why == nil && err == nil {
				why = c.maskMisfit(i, v.Chosen)
			}
			if why != nil && err == nil {
				v.Chosen = -1
				err = c.Refuse(i, ActChoose, why)
			}
			if err != nil {
				return -1, err
			}
		}
		if len(v.Bias) > 0 {
			if err := c.addBias(i, row); err != nil {
				return -1, err
			}
		}
		c.tracer.leave(c.links[i].name, v)
		if v.Chosen >= 0 {
			return v.Chosen, nil
		}
	}
	return -1, errNoCandidate
}

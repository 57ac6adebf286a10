// SPDX-License-Identifier: MIT

package chain

import (
	"errors"
	"fmt"
	"math"
	"slices"
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
		c.tracer.noteStage()
		prepared, err := l.preparer.Prepare()
		if err != nil {
			return err
		}
		c.tracer.notePrepared(l.name, prepared)
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
			v.Row = row.restrictedRow(r)
			c.tracer.noteRestricted(v)
		}
	}
	for i, stage := range c.stages {
		c.giveRow(i, row)
		c.tracer.noteStage()
		if err := stage.Apply(v); err != nil {
			return -1, err
		}
		if v.Chosen >= 0 {
			why, err := c.tokenMisfit(i, v.Chosen)
			if why == nil && err == nil {
				why = c.maskMisfit(i, v.Chosen)
			}
			if why == nil && err == nil {
				why, err = c.whyNotAllowed(i, v.Chosen, i)
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
		if c.links[i].judge != nil {
			c.noteLeft(i)
		}
	}
	return -1, errNoCandidate
}

var errEmptyMask = fmt.Errorf("%w: mask or bans leave no token that the other plugins allow", ErrNotAllowed)

// restriction is what the stages ask for before a token is drawn: which tokens are allowed, biased
// or forced.
type restriction struct {
	asked []Prepared // by stage, with masks and biases of its own memory

	mask       []uint32 // joined by AND, without the tokens that biases ban; empty: every token is allowed
	bias       []Bias   // the finite ones of all
	narrowedBy int      // the last stage that took a token away, or -1
	forced     []Token  // of one stage
	forcedBy   int      // the stage that did

	changed []float32 // the row with what was asked for
	masker  Masker    // nil: MaskRow
}

// clear forgets what was asked for and keeps the memory.
func (r *restriction) clear(stages int) {
	for len(r.asked) < stages {
		r.asked = append(r.asked, Prepared{})
	}
	r.asked = r.asked[:stages]
	for i := range r.asked {
		r.unset(i)
	}
	r.mask, r.bias, r.narrowedBy, r.forced = r.mask[:0], r.bias[:0], -1, nil
}

func (r *restriction) unset(i int) {
	a := &r.asked[i]
	*a = Prepared{Mask: a.Mask[:0], Bias: a.Bias[:0], Forced: a.Forced[:0]}
}

// set copies what a stage asks for: its memory is its own again when it is called next.
func (r *restriction) set(i int, p Prepared) {
	a := &r.asked[i]
	a.Mask, a.Bias, a.Forced = append(a.Mask[:0], p.Mask...), append(a.Bias[:0], p.Bias...), append(a.Forced[:0], p.Forced...)
}

// join joins what the stages ask for. A stage that leaves no token, or forces one that is not
// allowed, is refused and, if the request goes on without it, left out.
func (r *restriction) join(c *Chain) error {
	for {
		by, act, why, err := r.combine(c)
		if err != nil || why == nil {
			return err
		}
		if err := c.Refuse(by, act, why); err != nil {
			return err
		}
		r.unset(by)
	}
}

// combine joins what the stages ask for, up to a stage that is to be refused: it returns that one
// and why.
func (r *restriction) combine(c *Chain) (by int, act Act, why, err error) {
	r.mask, r.bias, r.narrowedBy, r.forced = r.mask[:0], r.bias[:0], -1, nil
	for _, i := range c.order {
		if forced := r.asked[i].Forced; len(forced) > 0 {
			if why, err = c.whyMisfit(i, forced); why == nil && err == nil {
				why = c.maskMisfit(i, forced[0])
			}
			if why == nil && err == nil {
				why, err = c.whyNotAllowed(i, forced[0], 0)
			}
			r.forced, r.forcedBy = forced, i
			return i, ActForce, why, err
		}
	}
	for _, i := range c.order { // the required ones first: if no token is left, another is to blame
		a := &r.asked[i]
		narrowed := len(a.Mask) > 0 && r.narrow(a.Mask)
		for _, b := range a.Bias {
			if b.bans() {
				narrowed = r.ban(b.Token, c.vocabulary) || narrowed
			} else {
				r.bias = append(r.bias, b)
			}
		}
		if narrowed {
			r.narrowedBy = i
		}
	}
	if r.narrowedBy >= 0 && !AllowsAny(r.mask) {
		return r.narrowedBy, ActMask, errEmptyMask, nil
	}
	return 0, 0, nil, nil
}

// narrow joins a mask to those before it and reports whether it took anything away.
func (r *restriction) narrow(mask []uint32) bool {
	if len(r.mask) == 0 {
		r.mask = append(r.mask, mask...)
		return true
	}
	changed := false
	for i, word := range mask[:min(len(mask), len(r.mask))] {
		joined := r.mask[i] & word
		changed = changed || joined != r.mask[i]
		r.mask[i] = joined
	}
	return changed
}

// ban takes one token away and reports whether it was there.
func (r *restriction) ban(t Token, vocabulary int) bool {
	if t < 0 || int(t) >= vocabulary {
		return false
	}
	if len(r.mask) == 0 {
		for i := 0; i < vocabulary; i += 32 {
			r.mask = append(r.mask, uint32(1<<min(32, vocabulary-i)-1))
		}
	}
	word, bit := int(t)/32, uint32(1)<<(t%32)
	if word >= len(r.mask) || r.mask[word]&bit == 0 {
		return false
	}
	r.mask[word] &^= bit
	return true
}

// AllowsAny reports whether a mask leaves a token.
func AllowsAny(mask []uint32) bool {
	for _, word := range mask {
		if word != 0 {
			return true
		}
	}
	return false
}

// none reports whether nothing was asked for that changes the row.
func (r *restriction) none() bool { return len(r.mask) == 0 && len(r.bias) == 0 }

// apply gives the row with what was asked for. It is another, so that the row itself stays for
// another try.
func (r *restriction) apply(row []float32) []float32 {
	r.changed = slices.Grow(r.changed[:0], len(row))[:len(row)]
	r.write(r.changed, row)
	return r.changed
}

// write writes the row with what was asked for.
func (r *restriction) write(to, row []float32) {
	to = to[:min(len(to), len(row))]
	switch {
	case len(r.mask) == 0:
		copy(to, row)
	case r.masker == nil:
		MaskRow(to, row, r.mask)
	default:
		r.masker.MaskRow(to, row, r.mask)
	}
	if known := 32 * len(r.mask); known > 0 && known < len(to) {
		copy(to[known:], row[known:])
	}
	for _, b := range r.bias {
		if b.Token >= 0 && int(b.Token) < len(to) {
			to[b.Token] += b.Value
		}
	}
}

var errNothingAbove = errors.New("the bias leaves no token that the stages before allow")

// addBias adds to the view what stage i has asked for, or refuses it.
func (c *Chain) addBias(i int, row *Row) error {
	v := &c.view
	bias := v.Bias
	v.Bias = nil
	if v.N < 0 && v.Row == nil {
		v.Row = row.restrictedRow(&c.restriction)
	}
	if !leavesAny(v, bias) {
		return c.Refuse(i, ActChoose, errNothingAbove)
	}
	if v.N < 0 {
		for _, b := range bias {
			if b.Token >= 0 && int(b.Token) < len(v.Row) {
				v.Row[b.Token] = biased(v.Row[b.Token], b.Value)
			}
		}
		return nil
	}
	amounts := make(map[Token]float32, len(bias))
	for _, b := range bias {
		amounts[b.Token] += b.Value
	}
	for n, t := range v.ID[:v.N] {
		if amount, ok := amounts[t]; ok {
			v.Logit[n] = biased(v.Logit[n], amount)
		}
	}
	return nil
}

func biased(logit, by float32) float32 { return min(logit+by, math.MaxFloat32) }

// leavesAny reports whether a token is left above −inf.
func leavesAny(v *View, bias []Bias) bool {
	banned := map[Token]bool{}
	for _, b := range bias {
		if b.bans() {
			banned[b.Token] = true
		}
	}
	if len(banned) == 0 {
		return true
	}
	logits, id := v.Row, func(i int) Token { return Token(i) }
	if v.N >= 0 {
		logits, id = v.Logit[:v.N], func(i int) Token { return v.ID[i] }
	}
	for i, l := range logits {
		if l >= -math.MaxFloat32 && !banned[id(i)] {
			return true
		}
	}
	return false
}

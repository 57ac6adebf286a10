// SPDX-License-Identifier: MIT

package chain

import (
	"fmt"
	"math"
	"slices"
)

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
	for i := range r.asked {
		if forced := r.asked[i].Forced; len(forced) > 0 {
			if why, err = c.misfit(i, forced); why == nil && err == nil {
				why = c.maskMisfit(i, forced[0])
			}
			r.forced, r.forcedBy = forced, i
			return i, ActForce, why, err
		}
	}
	for i := range r.asked {
		a := &r.asked[i]
		narrowed := len(a.Mask) > 0 && r.narrow(a.Mask)
		for _, b := range a.Bias {
			if math.IsInf(float64(b.Value), -1) {
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

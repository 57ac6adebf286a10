// SPDX-License-Identifier: MIT

package chain

import (
	"errors"
	"math"
)

var errNothingAbove = errors.New("the bias leaves no token that the stages before allow")

// addBias adds to the view what stage i has asked for, or refuses it.
func (c *Chain) addBias(i int, row *Row) error {
	v := &c.view
	bias := v.Bias
	v.Bias = nil
	if v.N < 0 && v.Row == nil {
		v.Row = row.restricted(&c.restriction)
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
		if math.IsInf(float64(b.Value), -1) {
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

// SPDX-License-Identifier: MIT

package session

import (
	"fmt"
	"math"

	"github.com/penstock/penstock/plugins/abi"
)

// candidate is one that a plugin left.
type candidate struct {
	token Token
	logit float32
}

// left are the candidates that a call leaves, in their order. Without ids the logits are a whole
// row's. That a plugin keeps the first of the candidates by its answer, or writes −inf to the
// others, is the same.
func (c *Call) left() []candidate {
	ids, logits := c.IDs, c.Logits
	switch k := abi.SampleEdited - int(*c.Answer); {
	case k == 0 && c.Left != nil:
		ids, logits = c.Left.IDs, c.Left.Logits
	case k > 0 && k <= len(ids):
		ids, logits = ids[:k], logits[:k]
	}
	var list []candidate
	for i, x := range logits {
		t := Token(i)
		if ids != nil {
			t = ids[i]
		}
		if x >= -math.MaxFloat32 || x != x {
			list = append(list, candidate{t, x})
		}
	}
	return list
}

// differSample compares what became of the view.
func (p *Player) differSample(want, got *Call) *Difference {
	if want.Call != CallSample || want.Answer == nil || got.Answer == nil {
		return nil
	}
	chosen := func(c *Call) string {
		if *c.Answer == abi.SampleBiased {
			return "logits are biased"
		}
		if *c.Answer < 0 {
			return "candidates are left"
		}
		return p.token(*c.Answer)
	}
	if d := differ("answer", chosen(want), chosen(got)); d != nil || *want.Answer >= 0 {
		return d
	}
	if *want.Answer == abi.SampleBiased {
		if want.Bias == nil {
			return nil
		}
		return differ("bias", p.biases(want.Bias), p.biases(got.Bias))
	}
	if want.Left == nil && *want.Answer == abi.SampleEdited {
		return nil
	}
	switch {
	case want.Left == nil:
	case want.Left.SHA256 != "":
		return p.differDigest(want.Left, got.Left)
	case got.Left != nil && got.Left.SHA256 != "":
		return p.differDigest(leftRow(want.Left.Logits), got.Left)
	}
	return p.differLeft(want.left(), got.left())
}

// differLeft finds the first candidate that differs.
func (p *Player) differLeft(want, got []candidate) *Difference {
	show := func(list []candidate, i int) string {
		if i >= len(list) {
			return fmt.Sprintf("none, %d are left", len(list))
		}
		return p.token(list[i].token) + " with logit " + showLogit(list[i].logit)
	}
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i].token != got[i].token || !same(want[i].logit, got[i].logit) {
			return &Difference{Field: fmt.Sprintf("candidate %d of those left", i+1), Recorded: show(want, i), Came: show(got, i)}
		}
	}
	return nil
}

// differDigest compares a row with the digest of one. If the best entries are the same, the
// difference is in one that was not recorded.
func (p *Player) differDigest(want, got *Left) *Difference {
	if got == nil {
		return &Difference{Field: "left", Recorded: "a row", Came: "none"}
	}
	digest := got.SHA256
	if digest == "" {
		digest = got.Logits.digest()
	}
	if digest == want.SHA256 {
		return nil
	}
	best := func(l *Left) (list []candidate) {
		for i, t := range l.IDs {
			list = append(list, candidate{t, l.Logits[i]})
		}
		return list
	}
	if d := p.differLeft(best(want), best(got)); d != nil {
		d.Field += " of the row, by logit"
		return d
	}
	return &Difference{Field: "digest of the row left", Recorded: want.SHA256, Came: digest}
}

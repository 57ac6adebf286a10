// SPDX-License-Identifier: MIT

package stage

import (
	"github.com/penstock/penstock/scheduler/chain"
)

// applyLogits shows the plugin the whole row. The guest's copy is the view from then on. It is not
// copied back, since this instance is not called again before the chain has chosen.
func (s *Stage) applyLogits(v *chain.View) error {
	row := s.row()
	switch {
	case v.N < 0 && v.Row == nil: // TakeRow wrote it
	case v.N < 0:
		copy(row, v.Row)
	default:
		for i := range row {
			row[i] = banned
		}
		for i, id := range v.ID[:v.N] {
			row[id] = v.Logit[i]
		}
	}
	if left, err := s.sample(len(row), 0, v); left == asIs {
		return err
	}
	find := s.module.Env.FirstInvalid
	if find == nil {
		find = firstInvalid
	}
	if at := find(row); at >= 0 {
		return s.wrongReturn("logit %v of token %d: neither finite nor −inf", row[at], at)
	}
	if !anyAbove(row) {
		return s.wrongReturn("no logit is left above −inf")
	}
	v.Row, v.N = row, -1
	return nil
}

// row is the bound row.
func (s *Stage) row() []float32 { return s.instance.Buffers.Logits()[:s.vocabulary()] }

func anyAbove(row []float32) bool {
	for _, x := range row {
		if x > banned {
			return true
		}
	}
	return false
}

// SPDX-License-Identifier: MIT

package plugin

import (
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
)

// applyLogits hands over the whole row. The guest's copy is the view from then on: it is not copied back, since no call
// is made on this instance before the chain has chosen.
func (s *Stage) applyLogits(v *scheduler.View) error {
	row := slice[float32](s.instance.buffers[abi.BufferLogits].bytes)[:s.vocabulary()]
	if v.N < 0 {
		copy(row, v.Row)
	} else {
		for i := range row {
			row[i] = banned
		}
		for i, id := range v.ID[:v.N] {
			row[id] = v.Logit[i]
		}
	}
	edited, err := s.sample(len(row), v)
	if err != nil || !edited {
		return err
	}
	if at := irregular(row); at >= 0 {
		return s.wrongAnswer("logit %v of token %d: neither finite nor −inf", row[at], at)
	}
	if !anyAbove(row) {
		return s.wrongAnswer("no logit is left above −inf")
	}
	v.Row, v.N = row, -1
	return nil
}

// block is how many logits are looked at before asking whether anything was wrong with them.
const block = 64

// irregular finds the first logit that is NaN or +inf, or returns −1. Both, and −inf, are recognised by an exponent of
// ones: adding one to it carries into the sign bit, for two logits in one addition.
func irregular(row []float32) int {
	const (
		sign = 0x8000_0000_8000_0000
		unit = 0x0080_0000_0080_0000
	)
	for from := 0; from < len(row); from += block {
		part := row[from:min(from+block, len(row))]
		flagged := uint64(0)
		if len(part) == block {
			for _, pair := range unsafe.Slice((*uint64)(unsafe.Pointer(&part[0])), block/2) {
				flagged |= pair&^sign + unit
			}
		} else {
			flagged = sign
		}
		if flagged&sign == 0 {
			continue
		}
		for i, x := range part {
			if !(x <= math.MaxFloat32) {
				return from + i
			}
		}
	}
	return -1
}

func anyAbove(row []float32) bool {
	for _, x := range row {
		if x > banned {
			return true
		}
	}
	return false
}

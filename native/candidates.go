// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Candidates are what a chain works on when other stages come before or after it: the whole Row
// where N is negative, or what TakeRow took of it where Row is nil, too; else ID[:N] with
// Logit[:N]. Chosen is the chosen token, or -1.
type Candidates struct {
	Row    []float32
	ID     []int32
	Logit  []float32
	N      int
	Chosen int32
}

// Apply runs the chain on v and writes back the result: a token in Chosen where the chain has a
// selector, else the candidates that are left, or the changed row.
func (s *Sampler) Apply(v *Candidates) error {
	if v.N > min(len(v.ID), len(v.Logit)) {
		return fmt.Errorf("apply: %w: %d candidates in slices of %d and %d", ErrInvalid, v.N, len(v.ID), len(v.Logit))
	}
	if err := s.enterAlone(); err != nil {
		return err
	}
	defer s.leaveAlone()
	var n C.int64_t
	var chosen C.int32_t
	code := C.ps_sampler_apply(s.c(), cFloats(v.Row), C.size_t(len(v.Row)),
		cInts(v.ID), cFloats(v.Logit), C.int64_t(v.N), &n, &chosen, &s.err)
	if code != C.PS_OK {
		return fmt.Errorf("apply: %w", failure(code, &s.err))
	}
	v.Chosen = int32(chosen)
	switch {
	case s.selects:
	case n < 0:
		C.ps_sampler_candidates(s.c(), nil, cFloats(v.Row), C.size_t(len(v.Row)))
	default:
		v.N = int(n)
		v.ID, v.Logit = grow(v.ID, v.N), grow(v.Logit, v.N)
		C.ps_sampler_candidates(s.c(), cInts(v.ID), cFloats(v.Logit), C.size_t(n))
	}
	return nil
}

// TakeRow takes what the chain needs of a row for the next Apply, and does not look at it after
// that. It takes nothing and returns false where the chain has to see the whole row.
func (s *Sampler) TakeRow(row []float32) (bool, error) {
	if err := s.enterAlone(); err != nil {
		return false, err
	}
	defer s.leaveAlone()
	var taken C.bool
	if code := C.ps_sampler_take(s.c(), cFloats(row), C.size_t(len(row)), &taken, &s.err); code != C.PS_OK {
		return false, fmt.Errorf("take a row: %w", failure(code, &s.err))
	}
	return bool(taken), nil
}

// useWholeRows makes the chain look at whole rows from now on, as llama.cpp's own chain does,
// instead of a shortlist of candidates. The tokens are the same; tests compare the two.
func (s *Sampler) useWholeRows() error {
	if err := s.enterAlone(); err != nil {
		return err
	}
	defer s.leaveAlone()
	C.ps_sampler_use_whole_rows(s.c())
	return nil
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:max(n, len(s))]
}

func cFloats(s []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(s))) }

func cInts(s []int32) *C.int32_t { return (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(s))) }

// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// SamplerKind is a sampler that narrows or reweights the candidates.
type SamplerKind int32

// llama.cpp's samplers.
const (
	Penalties   SamplerKind = C.PS_PENALTIES
	DRY         SamplerKind = C.PS_DRY
	TopNSigma   SamplerKind = C.PS_TOP_N_SIGMA
	TopK        SamplerKind = C.PS_TOP_K
	Typical     SamplerKind = C.PS_TYPICAL
	TopP        SamplerKind = C.PS_TOP_P
	MinP        SamplerKind = C.PS_MIN_P
	XTC         SamplerKind = C.PS_XTC
	Temperature SamplerKind = C.PS_TEMPERATURE
	Infill      SamplerKind = C.PS_INFILL
)

// Selector chooses the token at the end of a chain.
type Selector int32

// llama.cpp's selectors. SelectNone leaves the candidates to what comes after the chain.
const (
	SelectNone       Selector = C.PS_SELECT_NONE
	SelectDist       Selector = C.PS_SELECT_DIST
	SelectGreedy     Selector = C.PS_SELECT_GREEDY
	SelectMirostat   Selector = C.PS_SELECT_MIROSTAT
	SelectMirostatV2 Selector = C.PS_SELECT_MIROSTAT_V2
	SelectAdaptive   Selector = C.PS_SELECT_ADAPTIVE
)

// SamplerOptions describe a chain.
type SamplerOptions struct {
	Chain  []SamplerKind
	Select Selector
	Seed   uint32 // the same seed gives the same draws
	SamplerNumbers
	DryBreakers []string
	BiasTokens  []int32   // tokens whose logits are shifted before all else
	BiasValues  []float32 // by how much; −Inf bans
}

// Sampler is a chain of samplers with its state for one answer. Its methods do not run
// concurrently.
type Sampler struct {
	object
	selects bool
	token   C.int32_t // a field, because a variable would move to the heap for the call
	err     C.ps_error
}

// lists is C's view of the slices and texts; the pinner keeps them in place until the call has
// returned.
func (o SamplerOptions) lists(pin *runtime.Pinner) (C.ps_sampler_lists, error) {
	if len(o.BiasTokens) != len(o.BiasValues) {
		return C.ps_sampler_lists{}, fmt.Errorf("%w: %d bias tokens with %d values", ErrInvalid, len(o.BiasTokens), len(o.BiasValues))
	}
	var breakers strings.Builder
	for _, b := range o.DryBreakers {
		if b == "" || strings.ContainsRune(b, 0) {
			return C.ps_sampler_lists{}, fmt.Errorf("%w: dry_sequence_breakers has an entry %q; it must be text without zero bytes", ErrInvalid, b)
		}
		breakers.WriteString(b)
		breakers.WriteByte(0)
	}
	var l C.ps_sampler_lists
	if n := len(o.Chain); n > 0 {
		pin.Pin(&o.Chain[0])
		l.kinds, l.n_kinds = (*C.int32_t)(unsafe.Pointer(&o.Chain[0])), C.size_t(n)
	}
	if n := len(o.BiasTokens); n > 0 {
		pin.Pin(&o.BiasTokens[0])
		pin.Pin(&o.BiasValues[0])
		l.bias_tokens, l.bias_values = (*C.int32_t)(unsafe.Pointer(&o.BiasTokens[0])), (*C.float)(unsafe.Pointer(&o.BiasValues[0]))
		l.n_bias = C.size_t(n)
	}
	if all := breakers.String(); all != "" {
		pin.Pin(unsafe.StringData(all))
		l.breakers, l.breakers_size = textPointer(all), C.size_t(len(all))
	}
	return l, nil
}

// NewSampler makes a chain for m, which may be closed before it. What is wrong with the options is
// an ErrInvalid that names the field.
func NewSampler(m *Model, o SamplerOptions) (*Sampler, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	lists, err := o.lists(&pin)
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("sampler: model %w", err)
	}
	defer m.leave()
	params := o.params()
	var e C.ps_error
	var c *C.ps_sampler
	if err := failure(C.ps_sampler_new(m.c(), &params, &lists, &c, &e), &e); err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	s := &Sampler{selects: o.Select != SelectNone}
	s.own(unsafe.Pointer(c), m, func() { C.ps_sampler_free(c) })
	return s, nil
}

// Sample chooses a token from a row of logits and leaves the row as it is.
func (s *Sampler) Sample(row []float32) (int32, error) {
	if err := s.enterAlone(); err != nil {
		return -1, err
	}
	defer s.leaveAlone()
	code := C.ps_sampler_sample(s.c(), (*C.float)(unsafe.Pointer(unsafe.SliceData(row))), C.size_t(len(row)), &s.token, &s.err)
	if code != C.PS_OK {
		return -1, fmt.Errorf("sample: %w", failure(code, &s.err))
	}
	return int32(s.token), nil
}

// Accept tells the chain which token was chosen.
func (s *Sampler) Accept(token int32) error {
	if err := s.enterAlone(); err != nil {
		return err
	}
	defer s.leaveAlone()
	if code := C.ps_sampler_accept(s.c(), C.int32_t(token), &s.err); code != C.PS_OK {
		return fmt.Errorf("accept: %w", failure(code, &s.err))
	}
	return nil
}

// Rewind makes history the accepted tokens; the first prompt of them are the prompt. Random
// numbers go on from where they are, so that a second try can end differently.
func (s *Sampler) Rewind(history []int32, prompt int) error {
	if err := s.enterAlone(); err != nil {
		return err
	}
	defer s.leaveAlone()
	if code := C.ps_sampler_rewind(s.c(), cInts(history), C.size_t(len(history)), C.size_t(max(prompt, 0)), &s.err); code != C.PS_OK {
		return fmt.Errorf("rewind: %w", failure(code, &s.err))
	}
	return nil
}

func (s *Sampler) c() *C.ps_sampler { return (*C.ps_sampler)(s.h.c) }

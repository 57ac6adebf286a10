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
	DryBreakers          []string
	BiasTokens           []int32   // tokens whose logits are shifted before all else
	BiasValues           []float32 // by how much; −Inf bans
	Grammar, GrammarRoot string    // GBNF and its first rule; "" is none, "root"
	GrammarPrefix        []int32   // the tokens of the prompt that the grammar begins with
}

// Sampler is a chain of samplers with its state for one answer. Its methods do not run concurrently.
type Sampler struct {
	object
	selects bool
	token   C.int32_t // a field, because a variable would move to the heap for the call
	err     C.ps_error
}

// lists is C's view of the slices and texts; the pinner keeps them in place until the call has returned.
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
	all := breakers.String()
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
	pinString := func(s string) (*C.char, C.size_t) {
		if s == "" {
			return nil, 0
		}
		pin.Pin(unsafe.StringData(s))
		return textPointer(s), C.size_t(len(s))
	}
	l.breakers, l.breakers_size = pinString(all)
	l.grammar, l.grammar_size = pinString(o.Grammar)
	l.root, l.root_size = pinString(o.GrammarRoot)
	if n := len(o.GrammarPrefix); n > 0 {
		pin.Pin(&o.GrammarPrefix[0])
		l.prefix, l.n_prefix = (*C.int32_t)(unsafe.Pointer(&o.GrammarPrefix[0])), C.size_t(n)
	}
	return l, nil
}

// NewSampler makes a chain for m, which may be closed before it. What is wrong with the options is an ErrInvalid that
// names the field.
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

// CountAllowed is how many of tokens the chain's grammar allows, whether it rests or not, one after the other: all, if it has none. Of
// the text of the first, skip bytes are left out. Nothing changes.
func (s *Sampler) CountAllowed(tokens []int32, skip int) (int, error) {
	if err := s.enterAlone(); err != nil {
		return 0, err
	}
	defer s.leaveAlone()
	var n C.size_t
	if code := C.ps_sampler_allowed(s.c(), cInts(tokens), C.size_t(len(tokens)), C.size_t(max(skip, 0)), &n, &s.err); code != C.PS_OK {
		return 0, fmt.Errorf("grammar: %w", failure(code, &s.err))
	}
	return int(n), nil
}

// RestGrammar has the chain's grammar rest, or not, from now on. A grammar that rests restricts nothing and is told no token.
func (s *Sampler) RestGrammar(rest bool) error {
	if err := s.enterAlone(); err != nil {
		return err
	}
	defer s.leaveAlone()
	C.ps_sampler_rest_grammar(s.c(), C.bool(rest))
	return nil
}

// AcceptGrammar tells the chain's grammar alone, whether it rests or not, of tokens. Of the text of the first, skip bytes are left out.
func (s *Sampler) AcceptGrammar(tokens []int32, skip int) error {
	if err := s.enterAlone(); err != nil {
		return err
	}
	defer s.leaveAlone()
	code := C.ps_sampler_accept_grammar(s.c(), cInts(tokens), C.size_t(len(tokens)), C.size_t(max(skip, 0)), &s.err)
	if code != C.PS_OK {
		return fmt.Errorf("grammar: %w", failure(code, &s.err))
	}
	return nil
}

// Rewind makes history the accepted tokens; the first prompt of them are the prompt, which the grammar does not see.
// Random numbers go on from where they are, so that a second try can end differently.
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

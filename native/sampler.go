// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"math"
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

// SamplerNumbers are the parameters of llama.cpp's samplers. Each must be in the range that
// llama.cpp can work with, used or not. A temperature under 0.0001 counts as 0: the most likely
// token. The fields are those of sampling.Numbers, which becomes one of these.
type SamplerNumbers struct {
	Temperature, DynatempRange, DynatempExponent     float32
	TopK, MinKeep                                    int
	TopP, MinP, TypicalP, TopNSigma                  float32
	XTCProbability, XTCThreshold                     float32
	RepeatLastN                                      int
	RepeatPenalty, FrequencyPenalty, PresencePenalty float32
	DryMultiplier, DryBase                           float32
	DryAllowedLength, DryPenaltyLastN                int
	MirostatTau, MirostatEta                         float32
	AdaptiveTarget, AdaptiveDecay                    float32
}

// params are the numbers, and what else fits into a field, as C has them.
func (o SamplerOptions) params() C.ps_sampler_params {
	i := func(v int) C.int32_t { return C.int32_t(min(max(v, math.MinInt32), math.MaxInt32)) }
	return C.ps_sampler_params{
		seed:     C.uint32_t(o.Seed),
		_select:  C.int32_t(o.Select),
		min_keep: i(o.MinKeep), top_k: i(o.TopK), repeat_last_n: i(o.RepeatLastN),
		dry_allowed_length: i(o.DryAllowedLength), dry_last_n: i(o.DryPenaltyLastN),
		temperature: C.float(o.Temperature), dynatemp_range: C.float(o.DynatempRange), dynatemp_exponent: C.float(o.DynatempExponent),
		top_p: C.float(o.TopP), min_p: C.float(o.MinP), typical_p: C.float(o.TypicalP), top_n_sigma: C.float(o.TopNSigma),
		xtc_probability: C.float(o.XTCProbability), xtc_threshold: C.float(o.XTCThreshold),
		repeat_penalty: C.float(o.RepeatPenalty), frequency_penalty: C.float(o.FrequencyPenalty), presence_penalty: C.float(o.PresencePenalty),
		dry_multiplier: C.float(o.DryMultiplier), dry_base: C.float(o.DryBase),
		mirostat_tau: C.float(o.MirostatTau), mirostat_eta: C.float(o.MirostatEta),
		adaptive_target: C.float(o.AdaptiveTarget), adaptive_decay: C.float(o.AdaptiveDecay),
	}
}

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

// MaskRow writes a row's logits to another slice where the mask has a bit, and −Inf elsewhere: bit
// i of word i/32 is token i's. It writes as many logits as to, row and mask have.
func MaskRow(to, row []float32, mask []uint32) {
	n := min(len(to), len(row), 32*len(mask))
	C.ps_mask_row(cFloats(to), cFloats(row), C.size_t(n), (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(mask))))
}

// FirstInvalid is the index of the first logit of a row that is NaN or +Inf, or −1.
func FirstInvalid(row []float32) int {
	at := C.ps_first_invalid(cFloats(row), C.size_t(len(row)))
	if at > math.MaxInt || int(at) >= len(row) {
		return -1
	}
	return int(at)
}

// Distribution tells what a row of logits says as a whole: the natural logarithm of the sum of
// their exponentials, less which a logit is a log-probability, and the entropy in nats. NaN counts
// as −Inf; of a row with nothing above that logSum is −Inf.
func Distribution(row []float32) (logSum, entropy float32) {
	var l, e C.float
	C.ps_distribution(cFloats(row), C.size_t(len(row)), &l, &e)
	return float32(l), float32(e)
}

// TopLogits writes the highest logits of a row into ids and logits, best first and lower ids first
// among equals, as many as there is room for. It returns how many it wrote: fewer where fewer are
// above −Inf. NaN counts as −Inf.
func TopLogits(row []float32, ids []int32, logits []float32) int {
	k := min(len(ids), len(logits))
	if len(row) == 0 || k == 0 {
		return 0
	}
	return int(C.ps_top_k(cFloats(row), C.size_t(len(row)), C.int32_t(k), cInts(ids), cFloats(logits)))
}

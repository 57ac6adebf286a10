// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"cmp"
	"fmt"
	"math"
)

// ContextOptions size a context and say how it computes, as llama_context_params does. Zero values
// take the defaults named.
type ContextOptions struct {
	Cells           int // KV cells in all, shared where Unified; 0: as many as the model was trained for
	Batch           int // tokens a forward pass may carry; 0: 2048
	UBatch          int // tokens computed at once; 0: 512
	Sequences       int // 1 to 256; 0: 1
	Rows            int // output rows a forward pass may have, also where Sequences are fewer; 0: one for each sequence
	Snapshots       int // states of each recurrent sequence that Remove can go back to; 0 where the model has none
	Threads         int // that compute one token; 0: physical cores
	ThreadsBatch    int // that compute more tokens than one; 0: as many
	Poll            int // 0..100: how long idle workers spin before they sleep
	Rope            Rope
	FlashAttention  string // auto, on, off; "" is auto
	TypeK, TypeV    string // of the KV cache: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1; "" is f16. A quantised V needs flash attention
	NoKVOffload     bool   // the KV cache and attention stay on the CPU
	NoOpOffload     bool   // no GPU computes with weights that are in main memory
	FullWindowCache bool   // sliding-window layers keep every position too, so that a sequence can be cut anywhere
	Unified         bool   // all sequences share one buffer of cells; else each has its own
	Output          Output // what a pass gives; where it is not Logits, Rows is of no account
}

// Rope is how positions are turned into rotations. Zero values are the model's own.
type Rope struct {
	Scaling   string  // none, linear, yarn or longrope
	FreqBase  float32 // base of the frequencies
	FreqScale float32 // factor of the frequencies: 0.25 stretches the context four times
	YaRN      *YaRN   // nil: the model's
}

// YaRN are the parameters of YaRN. Negative values, and 0 for OrigCtx, are the model's own.
type YaRN struct {
	OrigCtx    int     // tokens the model was trained for before it was extended
	ExtFactor  float32 // mix of extrapolation; 0: interpolation only
	AttnFactor float32 // factor of the attention's magnitude
	BetaFast   float32 // rotations within the context above which a frequency is not interpolated
	BetaSlow   float32 // rotations below which it is not extrapolated
}

var (
	kvTypes        = map[string]C.int32_t{"f32": 0, "f16": 1, "bf16": 30, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20}
	flashAttention = map[string]C.int32_t{"auto": -1, "off": 0, "on": 1}
	ropeScalings   = map[string]C.int32_t{"model": -1, "none": 0, "linear": 1, "yarn": 2, "longrope": 3}
)

// isQuantised tells of a type of the KV cache whether its values are stored in blocks.
func isQuantised(kvType C.int32_t) bool {
	return kvType != kvTypes["f32"] && kvType != kvTypes["f16"] && kvType != kvTypes["bf16"]
}

func (o ContextOptions) params() (p C.ps_context_params, err error) {
	for _, f := range []struct {
		field, name, otherwise string
		among                  map[string]C.int32_t
		to                     *C.int32_t
	}{
		{"type of the K cache", o.TypeK, "f16", kvTypes, &p.type_k},
		{"type of the V cache", o.TypeV, "f16", kvTypes, &p.type_v},
		{"flash attention", o.FlashAttention, "auto", flashAttention, &p.flash_attention},
		{"rope scaling", o.Rope.Scaling, "model", ropeScalings, &p.rope_scaling},
	} {
		if *f.to, err = choose(f.field, f.name, f.otherwise, f.among); err != nil {
			return p, err
		}
	}
	if isQuantised(p.type_v) && p.flash_attention == flashAttention["off"] {
		return p, fmt.Errorf("%w: a V cache of type %s needs flash attention, which is off; turn it on, or use f16, bf16 or f32 for V", ErrInvalid, o.TypeV)
	}
	for name, v := range map[string]int{"cells": o.Cells, "batch": o.Batch, "ubatch": o.UBatch, "sequences": o.Sequences,
		"rows": o.Rows, "snapshots": o.Snapshots, "threads": o.Threads, "threads_batch": o.ThreadsBatch, "poll": o.Poll} {
		if v < 0 || v > 1<<28 {
			return p, fmt.Errorf("%w: %s is %d; it must not be negative or over %d", ErrInvalid, name, v, 1<<28)
		}
	}
	if err := o.Rope.put(&p); err != nil {
		return p, err
	}
	p.output = C.int32_t(o.Output)
	p.cells, p.batch, p.ubatch = C.uint32_t(o.Cells), C.uint32_t(cmp.Or(o.Batch, 2048)), C.uint32_t(cmp.Or(o.UBatch, 512))
	p.sequences, p.rows, p.snapshots = C.uint32_t(cmp.Or(o.Sequences, 1)), C.uint32_t(o.Rows), C.uint32_t(o.Snapshots)
	p.threads, p.poll = C.int32_t(cmp.Or(o.Threads, PhysicalCores())), C.uint32_t(o.Poll)
	p.threads_batch = cmp.Or(C.int32_t(o.ThreadsBatch), p.threads)
	p.no_kv_offload, p.no_op_offload = C._Bool(o.NoKVOffload), C._Bool(o.NoOpOffload)
	p.swa_full, p.unified = C._Bool(o.FullWindowCache), C._Bool(o.Unified)
	return p, nil
}

func (r Rope) put(p *C.ps_context_params) error {
	yarn := YaRN{0, -1, -1, -1, -1}
	if r.YaRN != nil {
		yarn = *r.YaRN
	}
	for name, v := range map[string]float32{"rope freq base": r.FreqBase, "rope freq scale": r.FreqScale} {
		if !(v >= 0) || math.IsInf(float64(v), 1) {
			return fmt.Errorf("%w: %s is %g; it must be 0 or more", ErrInvalid, name, v)
		}
	}
	if r.FreqScale > 0 && r.FreqScale < 1e-6 {
		return fmt.Errorf("%w: rope freq scale is %g; it must be 0 or at least 1e-6", ErrInvalid, r.FreqScale)
	}
	for name, v := range map[string]float32{"ext factor": yarn.ExtFactor, "attn factor": yarn.AttnFactor, "beta fast": yarn.BetaFast, "beta slow": yarn.BetaSlow} {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("%w: YaRN's %s is %g; it must be a number", ErrInvalid, name, v)
		}
	}
	if yarn.OrigCtx < 0 || yarn.OrigCtx > 1<<28 {
		return fmt.Errorf("%w: YaRN's original context is %d; it must be 0 to %d", ErrInvalid, yarn.OrigCtx, 1<<28)
	}
	p.rope_freq_base, p.rope_freq_scale, p.yarn_orig_ctx = C.float(r.FreqBase), C.float(r.FreqScale), C.uint32_t(yarn.OrigCtx)
	p.yarn_ext_factor, p.yarn_attn_factor = C.float(yarn.ExtFactor), C.float(yarn.AttnFactor)
	p.yarn_beta_fast, p.yarn_beta_slow = C.float(yarn.BetaFast), C.float(yarn.BetaSlow)
	return nil
}

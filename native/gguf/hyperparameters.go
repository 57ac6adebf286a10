// SPDX-License-Identifier: MIT

package gguf

import (
	"fmt"
	"math"
	"slices"
)

// The bounds of llama.cpp's fixed arrays (LLAMA_MAX_LAYERS, LLAMA_MAX_EXPERTS), and widths no
// model has: beyond them its 32-bit arithmetic wraps.
const (
	maxLayers  = 512
	maxExperts = 1024
	maxWidth   = 1 << 20
	maxContext = 1 << 30
)

// checkHyperparameters refuses the metadata that llama_model_base::load_hparams asserts on or that
// makes the graph divide by zero. Absent keys are left to llama.cpp: which ones are needed depends
// on the architecture, and it says so in an error.
func checkHyperparameters(h *Header) error {
	p := params{h: h, prefix: h.Architecture() + "."}
	layers := p.uint("block_count", 1, maxLayers)
	p.uint("context_length", 1, maxContext)
	p.uint("embedding_length", 1, maxWidth)
	p.uint("rope.dimension_count", 0, maxWidth)
	p.uint("attention.key_length", 0, maxWidth)
	p.uint("attention.value_length", 0, maxWidth)
	p.pooling()
	if layers > 0 {
		p.uint("nextn_predict_layers", 0, layers)
		p.list("feed_forward_length", layers, maxWidth)
		p.heads(layers)
		p.experts(layers)
	}
	p.rope()
	for _, key := range []string{"attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.group_norm_epsilon"} {
		p.float(key, 0, 1)
	}
	return p.err
}

// params reads the hyperparameters of one architecture and keeps the first error.
type params struct {
	h      *Header
	prefix string
	err    error
}

func (p *params) fail(key string, got any, want string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s is %v, expected %s", ErrMalformed, p.prefix+key, got, want)
	}
}

func (p *params) scalar(key string, want Type) (Value, bool) {
	v, ok, err := p.h.scalar(p.prefix+key, want)
	if err != nil && p.err == nil {
		p.err = err
	}
	return v, ok
}

// uint is a u32 between lo and hi, 0 if absent or wrong.
func (p *params) uint(key string, lo, hi int64) int64 {
	v, ok := p.scalar(key, Uint32)
	if !ok {
		return 0
	}
	n := v.Int(0)
	if n < lo || n > hi {
		p.fail(key, n, fmt.Sprintf("%d to %d", lo, hi))
		return 0
	}
	return n
}

// float is an f32 between lo and hi; the comparison also refuses NaN.
func (p *params) float(key string, lo, hi float64) {
	if v, ok := p.scalar(key, Float32); ok {
		if f := v.Float(0); !(f >= lo && f <= hi) {
			p.fail(key, f, fmt.Sprintf("%g to %g", lo, hi))
		}
	}
}

// list is one number a layer, given as an array or as one number for all; nil if absent or wrong.
func (p *params) list(key string, layers, hi int64) []int64 {
	v, ok := p.h.Values[p.prefix+key]
	if !ok {
		return nil
	}
	if v.Elem != Uint32 && v.Elem != Int32 {
		p.fail(key, v.Elem, "u32")
		return nil
	}
	if v.Type == Array && int64(v.Len()) != layers {
		p.fail(key, fmt.Sprintf("an array of %d", v.Len()), fmt.Sprintf("one number for each of %d layers", layers))
		return nil
	}
	out := make([]int64, layers)
	for i := range out {
		out[i] = v.Int(min(i, v.Len()-1))
		if out[i] < 0 || out[i] > hi {
			p.fail(key, out[i], fmt.Sprintf("0 to %d", hi))
			return nil
		}
	}
	return out
}

// heads checks the attention heads. 0 stands for a layer without attention, so it is wrong only if
// none has any and the file yet holds attention weights.
func (p *params) heads(layers int64) {
	const key, keyKV = "attention.head_count", "attention.head_count_kv"
	heads := p.list(key, layers, maxWidth)
	if heads == nil {
		return
	}
	if slices.Max(heads) == 0 && p.h.hasTensor("blk.0.attn_q.weight", "blk.0.attn_qkv.weight") {
		p.fail(key, 0, "at least 1")
	}
	for i, kv := range p.list(keyKV, layers, maxWidth) {
		if kv > 0 && heads[i]%kv != 0 {
			p.fail(keyKV, kv, fmt.Sprintf("a divisor of the %d heads of layer %d", heads[i], i))
		}
	}
}

// experts follows the assertions on mixtures of experts. Hunyuan's dense models set one expert and
// none used, which llama.cpp overrides.
func (p *params) experts(layers int64) {
	n := p.uint("expert_count", 0, maxExperts)
	used := int64(0)
	if list := p.list("expert_used_count", layers, maxExperts); list != nil {
		used = slices.Max(list)
	}
	if arch := p.h.Architecture(); n <= 1 && (arch == "hunyuan-dense" || arch == "hunyuan_vl") {
		return
	}
	if used > n || (n > 0 && used == 0) {
		p.fail("expert_used_count", used, fmt.Sprintf("1 to the expert_count, %d", n))
	}
	groups, groupsUsed := p.uint("expert_group_count", 0, maxExperts), p.uint("expert_group_used_count", 0, maxExperts)
	if groups > 0 && groups >= n {
		p.fail("expert_group_count", groups, fmt.Sprintf("less than the expert_count, %d", n))
	} else if groups > 1 && (n%groups != 0 || groupsUsed == 0 || groupsUsed >= groups) {
		p.fail("expert_group_used_count", groupsUsed, fmt.Sprintf("less than %d groups, which divide %d experts", groups, n))
	}
}

// pooling is a number from 0 to 4, or all ones: llama.cpp's -1, with which its own writer says
// "unspecified".
func (p *params) pooling() {
	const key = "pooling_type"
	if v, ok := p.scalar(key, Uint32); ok && v.Int(0) > 4 && v.Int(0) != math.MaxUint32 {
		p.fail(key, v.Int(0), "0 to 4, or 4294967295 for unspecified")
	}
}

func (p *params) rope() {
	p.float("rope.freq_base", math.SmallestNonzeroFloat32, math.MaxFloat32)
	p.float("rope.scaling.factor", 0, math.MaxFloat32)
	p.float("rope.scale_linear", 0, math.MaxFloat32)
	p.float("rope.scaling.attn_factor", 0, math.MaxFloat32)
	if v, ok := p.scalar("rope.scaling.type", String); ok {
		if kinds := []string{"none", "linear", "yarn", "longrope"}; !slices.Contains(kinds, v.Text()) {
			p.fail("rope.scaling.type", fmt.Sprintf("%.32q", v.Text()), fmt.Sprintf("one of %v", kinds))
		}
	}
}

func (h *Header) hasTensor(names ...string) bool {
	return slices.ContainsFunc(h.Tensors, func(t Tensor) bool { return slices.Contains(names, t.Name) })
}

// HeadType is llama-server's name for what a model that is nothing but a head does, which guesses
// further tokens for another; empty: it is none.
func (h *Header) HeadType() string {
	switch h.Architecture() {
	case "gemma4-assistant":
		return "draft-mtp"
	case "eagle3":
		return "draft-eagle3"
	case "dflash":
		if h.hasTensor("markov_w1.weight") {
			return "draft-dspark"
		}
		return "draft-dflash"
	}
	return ""
}

// mostHeads are used in a chain, of which each guesses a token further.
const mostHeads = 16

// HasHead reports whether there is a layer that guesses further tokens (MTP), with what makes it
// one, or a chain of them.
func (h *Header) HasHead() bool {
	p, most := params{h: h, prefix: h.Architecture() + "."}, int64(1)
	if slices.Contains([]string{"step35", "mimo2"}, h.Architecture()) {
		most = mostHeads
	}
	heads, layers := p.uint("nextn_predict_layers", 1, most), p.uint("block_count", 1, maxLayers)
	return heads >= 1 && h.hasTensor(fmt.Sprintf("blk.%d.nextn.eh_proj.weight", layers-1))
}

// SPDX-License-Identifier: MIT

package cost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/scheduler/chain"
)

// builtIn are the host's samplers that a plugin is compared with, in everyday use.
var builtIn = []struct {
	name     string
	chain    native.SamplerKind
	selector native.Selector
}{
	{"min_p 0.05", native.MinP, native.SelectNone},
	{"top_k 40", native.TopK, native.SelectNone},
	{"top_p 0.95", native.TopP, native.SelectNone},
	{"typ_p 0.95", native.Typical, native.SelectNone},
	{"temperature 0.8, dist", native.Temperature, native.SelectDist},
}

// settings are those of all of them. What a sampler does not use must be in range, too.
var settings = native.SamplerOptions{Seed: 1, SamplerNumbers: native.SamplerNumbers{
	MinP: 0.05, TopK: 40, TopP: 0.95, TypicalP: 0.95, Temperature: 0.8, DynatempExponent: 1, RepeatPenalty: 1,
	XTCThreshold: 0.1, DryBase: 1.75, DryAllowedLength: 2, MirostatTau: 5, MirostatEta: 0.1, AdaptiveTarget: -1, AdaptiveDecay: 0.9,
}}

// loadTokens loads a model that is a number of tokens and nothing else: the built-in samplers need
// no more.
func loadTokens(ctx context.Context, n int) (_ *native.Model, err error) {
	dir, err := os.MkdirTemp("", "penstock-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "tokens.gguf")
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	var h gguf.Header
	h.Set("general.architecture", gguf.NewString("llama"))
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("<%d>", i)
	}
	h.Set("tokenizer.ggml.model", gguf.NewString("gpt2"))
	h.Set("tokenizer.ggml.pre", gguf.NewString("gpt-2"))
	h.Set("tokenizer.ggml.tokens", gguf.NewStrings(names...))
	h.Set("tokenizer.ggml.merges", gguf.NewStrings())
	h.Set("tokenizer.ggml.eos_token_id", gguf.NewUint32(0))
	if err := errors.Join(h.Write(file), file.Close()); err != nil {
		return nil, err
	}
	return native.LoadModel(ctx, path, native.ModelOptions{VocabOnly: true})
}

// applyNative runs a built-in sampler as a stage of a chain.
func applyNative(s *native.Sampler, v *chain.View) error {
	c := native.Candidates{Row: v.Row, ID: v.ID, Logit: v.Logit, N: v.N, Chosen: v.Chosen}
	err := s.Apply(&c)
	v.Row, v.ID, v.Logit, v.N, v.Chosen = c.Row, c.ID, c.Logit, c.N, c.Chosen
	return err
}

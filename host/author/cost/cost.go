// SPDX-License-Identifier: MIT

// Package cost tells what a plugin costs a token, beside the built-in samplers on the same rows of
// logits.
package cost

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/script"
)

// Options say how to measure.
type Options struct {
	Config     []byte // of the request, JSON
	Vocabulary int    // tokens; 0: 128,256, as many as Llama 3 has
	Tokens     int    // of the answer; 0: 400
	Alone      bool   // the built-in samplers are left out
}

// Report is what was measured.
type Report struct {
	Plugin     string   `json:"plugin"`
	SHA256     string   `json:"sha256"`
	Vocabulary int      `json:"vocabulary"`
	Tokens     int      `json:"tokens"`
	Hooks      []Figure `json:"hooks"`    // of the plugin
	BuiltIn    []Figure `json:"built_in"` // of the host's samplers
	Memory     Memory   `json:"memory"`

	words *drive.Words
}

// Figure is what one call for a token costs.
type Figure struct {
	Name   string        `json:"name"`
	Input  string        `json:"input,omitempty"` // of a sampler: the whole row, or what top_k left of it
	Median time.Duration `json:"median_ns"`
	P99    time.Duration `json:"p99_ns"`
	Fuel   int64         `json:"fuel,omitempty"` // units, of the call that used most
	Limit  int64         `json:"fuel_limit,omitempty"`

	times []time.Duration
}

// Memory is the guest's, in bytes.
type Memory struct {
	Opened int `json:"opened"` // before the first token
	End    int `json:"end"`    // after the last
}

// The inputs of samplers.
const (
	wholeRow = "whole row"
	narrowed = "best 256"
)

// few is how many candidates are left where a stage before has narrowed the row.
const few = 256

// Module measures a module or a script. The error says why nothing could be measured: it or the
// configuration is refused, or a call fails.
func Module(ctx context.Context, f load.File, o Options) (_ *Report, err error) {
	o.Vocabulary, o.Tokens = cmp.Or(o.Vocabulary, 128_256), cmp.Or(o.Tokens, 400)
	words := drive.NewWords(o.Vocabulary)
	loader := load.New(plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: words, Grammars: drive.Grammars{Words: words}}, TopK: topK, Interpreter: script.Module})
	defer func() { err = errors.Join(err, loader.Close(context.WithoutCancel(ctx))) }()
	p, err := loader.LoadFile(ctx, f)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	r := &Report{Plugin: p.Name, SHA256: p.SHA256, Vocabulary: o.Vocabulary, Tokens: o.Tokens, words: words}
	config, err := p.CheckConfig(o.Config)
	if err != nil {
		return nil, err
	}
	if p, err = p.With(ctx, "", config); err != nil {
		return nil, err
	}
	defer p.Release()
	request := plugin.RequestInfo{Config: config, Seed: 1, MaxTokens: o.Tokens, ContextSize: 2 * o.Tokens, Time: time.Now(),
		PromptText: func(_ context.Context, messages []byte) (string, error) { return string(messages), nil }}
	if p.IsTemplate() || p.Rewrites() {
		if err := r.render(ctx, p, request); err != nil {
			return nil, err
		}
	}
	if p.IsProgram() {
		err = r.write(ctx, p, request)
	} else if p.IsStage() || p.IsStop() || p.Filters() {
		err = r.converse(ctx, p, request)
	} else {
		return r, nil
	}
	if err != nil || o.Alone {
		return r, err
	}
	return r, r.compare(ctx)
}

// topK is the host's own search for the best of a row.
func topK(row []float32, k int, ids []int32, logits []float32) int {
	return native.TopLogits(row, ids[:k], logits[:k])
}

// render measures what makes prompts or messages. The instance that it needs each time is a part
// of it.
func (r *Report) render(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) error {
	figure := Figure{Name: abi.ExportMessages}
	if p.IsTemplate() {
		figure.Name = abi.ExportTemplate
	}
	for range r.Tokens {
		begin := time.Now()
		if _, err := drive.Everyday.Make(ctx, p, request); err != nil {
			return err
		}
		figure.times = append(figure.times, time.Since(begin))
	}
	r.Hooks = append(r.Hooks, figure.done())
	return nil
}

// done computes what times stand for.
func (c *Figure) done() Figure {
	slices.Sort(c.times)
	if n := len(c.times); n > 0 {
		c.Median, c.P99 = c.times[n/2], c.times[min(n-1, n*99/100)]
	}
	c.times = nil
	return *c
}

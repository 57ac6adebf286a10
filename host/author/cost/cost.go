// SPDX-License-Identifier: MIT

// Package cost tells what a plugin costs a token, beside the built-in samplers on the same rows of
// logits.
package cost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
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

// narrowedTokens is how many candidates an earlier stage leaves in a narrowed row.
const narrowedTokens = 256

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
		if err := r.measureRendering(ctx, p, request); err != nil {
			return nil, err
		}
	}
	if p.IsProgram() {
		err = r.measureProgram(ctx, p, request)
	} else if p.IsStage() || p.IsStop() || p.Filters() {
		err = r.measureConversation(ctx, p, request)
	} else {
		return r, nil
	}
	if err != nil || o.Alone {
		return r, err
	}
	return r, r.measureBuiltIn(ctx)
}

// topK is the host's own search for the best of a row.
func topK(row []float32, k int, ids []int32, logits []float32) int {
	return native.TopLogits(row, ids[:k], logits[:k])
}

// measureRendering measures a plugin that writes prompts or rewrites messages, with the new
// instance that each call needs.
func (r *Report) measureRendering(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) error {
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
	r.Hooks = append(r.Hooks, figure.summarize())
	return nil
}

// summarize computes the median and the 99th percentile of the times, and drops these.
func (c *Figure) summarize() Figure {
	slices.Sort(c.times)
	if n := len(c.times); n > 0 {
		c.Median, c.P99 = c.times[n/2], c.times[min(n-1, n*99/100)]
	}
	c.times = nil
	return *c
}

// Print writes a report for people.
func (r *Report) Print(to io.Writer) error {
	fmt.Fprintf(to, "%s, %d tokens of a vocabulary of %d\n", r.Plugin, r.Tokens, r.Vocabulary)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  for a token\ton\tmedian\tp99\tmost fuel\tof the limit\n")
	for _, list := range [][]Figure{r.Hooks, r.BuiltIn} {
		for _, c := range list {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t", c.Name, c.Input, formatMicroseconds(c.Median), formatMicroseconds(c.P99))
			if c.Limit > 0 {
				fmt.Fprintf(table, "%d\t%.3f%%", c.Fuel, 100*float64(c.Fuel)/float64(c.Limit))
			} else {
				fmt.Fprintf(table, "\t")
			}
			fmt.Fprintln(table)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if r.Memory.Opened == 0 {
		return nil
	}
	_, err := fmt.Fprintf(to, "  memory: %d KiB before the first token, and %d KiB more after %d\n", r.Memory.Opened>>10, (r.Memory.End-r.Memory.Opened)>>10, r.Tokens)
	return err
}

// formatMicroseconds writes a duration with two decimals.
func formatMicroseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f µs", float64(d.Nanoseconds())/1000)
}

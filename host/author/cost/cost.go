// SPDX-License-Identifier: MIT

// Package cost tells what a plugin costs a token, beside the built-in samplers on the same rows of
// logits.
package cost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
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

// conversation measures the calls of one answer.
type conversation struct {
	input   string
	exports []string
	figures map[[2]string]*Figure // by name and input
	order   [][2]string
}

// prompt is what the conversations begin with.
var prompt = []chain.Token{3, 4, 5}

// measureConversation measures the calls of an answer on rows as they are, and, where a sampler may
// stand behind others, on narrowed ones.
func (r *Report) measureConversation(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) error {
	inputs := []string{wholeRow}
	if slices.Contains(p.Exports, abi.ExportSample) && p.Manifest.View == load.ViewCandidates {
		inputs = append(inputs, narrowed)
	}
	c := &conversation{exports: p.Exports, figures: map[[2]string]*Figure{}}
	rows := newRows(r.words)
	for _, c.input = range inputs {
		rows.narrow = c.input == narrowed
		if err := r.measureAnswer(ctx, p, request, c, rows); err != nil {
			return err
		}
	}
	for _, key := range c.order {
		r.Hooks = append(r.Hooks, c.figures[key].summarize())
	}
	return nil
}

// measureAnswer runs one answer, and where it ends early further ones, until all tokens are
// measured.
func (r *Report) measureAnswer(ctx context.Context, p *load.Plugin, request plugin.RequestInfo, c *conversation, rows *rows) error {
	a, err := drive.Begin(p, request, slices.Clone(prompt), r.words, rows, c.timeCall)
	if err != nil {
		return err
	}
	defer a.Close()
	begin := a.Mark()
	r.Memory.Opened = a.Stage.Usage().Memory
	for n := range r.Tokens {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.Step(uint64(n)); err != nil {
			return fmt.Errorf("token %d: %w", n+1, err)
		}
		if a.Ended {
			if err := a.Return(begin); err != nil {
				return err
			}
		}
	}
	r.Memory.End = a.Stage.Usage().Memory
	return nil
}

// timeCall is a drive.Caller that measures the calls for a token, of exports that the plugin has.
func (c *conversation) timeCall(s *stage.Stage, export string, call func() error, _ func() []any) error {
	key := [2]string{export, ""}
	drafts := export == abi.ExportAccept && s.Traits().Foresees // with the same call
	switch {
	case export == abi.ExportOpen, export == abi.ExportRewind, !slices.Contains(c.exports, export) && !drafts, slices.Contains(s.Declined(), export):
		return call()
	case export == abi.ExportSample:
		key[1] = c.input
	case drafts:
		key[1] = "with a draft"
	}
	figure := c.figures[key]
	if figure == nil {
		figure = &Figure{Name: key[0], Input: key[1]}
		c.figures[key], c.order = figure, append(c.order, key)
	}
	begin := time.Now()
	err := call()
	figure.times = append(figure.times, time.Since(begin))
	used := s.Usage()
	figure.Fuel, figure.Limit = max(figure.Fuel, used.Fuel), used.Limit
	return err
}

// builtInTime is how long a built-in sampler is measured. Some take milliseconds for a whole row.
const builtInTime = 300 * time.Millisecond

// measureBuiltIn measures the built-in samplers on the same rows.
func (r *Report) measureBuiltIn(ctx context.Context) (err error) {
	model, err := loadTokens(ctx, r.Vocabulary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	rows := newRows(r.words)
	for _, b := range builtIn {
		o := builtInOptions
		o.Chain, o.Select = []native.SamplerKind{b.chain}, b.selector
		sampler, err := native.NewSampler(model, o)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		for _, input := range []string{wholeRow, narrowed} {
			rows.narrow = input == narrowed
			figure := Figure{Name: b.name, Input: input}
			for n, until := 0, time.Now().Add(builtInTime); n < r.Tokens && (n < rowKinds || time.Now().Before(until)); n++ {
				v := rows.View(uint64(n), chain.Prepared{})
				begin := time.Now()
				if err := applyNative(sampler, v); err != nil {
					return errors.Join(fmt.Errorf("%s: %w", b.name, err), sampler.Close())
				}
				figure.times = append(figure.times, time.Since(begin))
			}
			r.BuiltIn = append(r.BuiltIn, figure.summarize())
		}
		if err := sampler.Close(); err != nil {
			return err
		}
	}
	return nil
}

// measureProgram measures what a program does from one wait to the next, with what the host finds
// in the rows for it.
func (r *Report) measureProgram(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) error {
	rows, shown := newRows(r.words), 0
	figure := Figure{Name: abi.ExportRun, Input: fmt.Sprintf("each wait, %d branches", p.Branches(request.Config))}
	began := time.Now()
	used, err := drive.Writing{
		Vocabulary: r.words, Summarizer: nativeRows{}, Masker: nativeRows{}, Draw: drawLikeliest,
		Row: func(tokens []program.Token) []float32 {
			h := fnv.New32a()
			fmt.Fprint(h, tokens[len(tokens)-1], len(tokens)) // hashes do not fail
			defer func() { began = time.Now() }()
			return rows.all[h.Sum32()%rowKinds]
		},
		Opened: func(u stage.Usage) {
			r.Memory.Opened = u.Memory
			began = time.Now()
		},
		Waited: func(more []program.Shown) bool {
			figure.times = append(figure.times, time.Since(began))
			shown += len(more)
			began = time.Now()
			return ctx.Err() == nil && shown < r.Tokens && len(figure.times) <= 100*(r.Tokens+1)
		},
	}.Write(p, request, prompt)
	r.Memory.End = max(used.Memory, r.Memory.Opened) // it is gone where the run was ended
	figure.Fuel, figure.Limit = used.Fuel/int64(max(1, len(figure.times))), abi.LimitHookFuel
	r.Hooks = append(r.Hooks, figure.summarize())
	return errors.Join(err, ctx.Err())
}

// nativeRows is the host's own search of rows, and masks.
type nativeRows struct{}

// Summarize implements program.Summarizer.
func (nativeRows) Summarize(row []float32, ids []int32, logits []float32) program.Summary {
	n := native.TopLogits(row, ids, logits)
	s := program.Summary{IDs: ids[:n], Logits: logits[:n]}
	s.LogSum, s.Entropy = native.Distribution(row)
	return s
}

// MaskRow implements chain.Masker.
func (nativeRows) MaskRow(to, row []float32, allowed []uint32) { native.MaskRow(to, row, allowed) }

// drawLikeliest draws the most likely token.
func drawLikeliest(v *chain.View, _ *rand.Rand) error {
	var id [1]int32
	var logit [1]float32
	if native.TopLogits(v.Row, id[:], logit[:]) == 0 {
		return chain.ErrNoToken
	}
	v.Chosen = id[0]
	return nil
}

// rowKinds is how many different rows there are.
const rowKinds = 8

// rows are made-up logits, distributed like a model's: a few tokens stand out.
type rows struct {
	words  *drive.Words
	narrow bool // the best of each alone
	all    [rowKinds][]float32
	row    []float32 // a copy, for the stages to edit
	ids    []chain.Token
	logits []float32
}

func newRows(w *drive.Words) *rows {
	n := w.Size()
	r := &rows{words: w, row: make([]float32, n), ids: make([]chain.Token, min(narrowedTokens, n)), logits: make([]float32, min(narrowedTokens, n))}
	for k := range r.all {
		random := rand.New(rand.NewPCG(1, uint64(k)))
		r.all[k] = make([]float32, n)
		for t := range r.all[k] {
			r.all[k][t] = float32(random.NormFloat64()*2.5 - 5)
		}
		for range 20 {
			r.all[k][random.IntN(n)] += float32(8 + 4*random.Float64())
		}
	}
	return r
}

// View implements drive.Model.
func (r *rows) View(place uint64, p chain.Prepared) *chain.View {
	copy(r.row, r.all[place%rowKinds])
	drive.Prepare(r.row, p)
	v := &chain.View{Row: r.row, N: -1, Chosen: -1}
	if r.narrow {
		v.ID, v.Logit = r.ids, r.logits
		v.N = topK(r.row, len(r.ids), r.ids, r.logits)
	}
	return v
}

// Text implements drive.Model.
func (r *rows) Text(_ uint64, t chain.Token) string {
	return strings.ToValidUTF8(r.words.Piece(t), "\uFFFD")
}

// builtIn are the host's samplers, with everyday parameters, with which a plugin is compared.
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

// builtInOptions apply to all of them. What a sampler does not use must be in range, too.
var builtInOptions = native.SamplerOptions{Seed: 1, SamplerNumbers: native.SamplerNumbers{
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

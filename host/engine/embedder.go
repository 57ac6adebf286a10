// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/native"
)

// EmbedderOptions say what gives embeddings or scores, and how much is computed at once. Zero
// values take the defaults named.
type EmbedderOptions struct {
	Path   string // GGUF file; not used where an Engine shares its model
	Name   string // what clients call the model; "": the file's name without .gguf
	Scores bool   // the scores of its classifier in place of embeddings

	Batch, UBatch int // most tokens of one input, where it may be cut and where not; 0: 2048, 512
	Threads       int // 0: physical cores, fewer for a small model
	GPULayers     int // negative: all; 0: no GPU computes anything
	// Model and Context are llama.cpp's further options, as in Options; where an Engine shares its
	// model, they are the engine's.
	Model   native.ModelOptions
	Context native.ContextOptions
	// Progress is called with 0..1 while the weights load; nil is fine.
	Progress func(done float32)
}

const (
	// chunk is how many tokens of inputs that may be cut are computed in one pass on a CPU.
	// llama.cpp holds a row of logits for each, and more make it little faster.
	chunk = 128
	// Most inputs of one Compute, and of a model that keeps a state for each.
	maxInputs, maxStates = 64, 8
)

// Embedder is a model that gives embeddings of texts or scores them. Its Compute is called by one
// goroutine, all else is safe for concurrent use.
type Embedder struct {
	model   *native.Model
	owned   bool // the model is closed with it
	context *native.Context
	name    string
	scores  bool
	limits  embedding.Limits
	batch   native.Batch
}

var _ embedding.Backend = (*Embedder)(nil)

// OpenEmbedder loads a model for embeddings or scores. Its errors are those of native.LoadModel
// and native.NewContext.
func OpenEmbedder(ctx context.Context, o EmbedderOptions) (*Embedder, error) {
	o.Name = cmp.Or(o.Name, strings.TrimSuffix(filepath.Base(o.Path), ".gguf"))
	model, err := native.LoadModel(ctx, o.Path, Options{Model: o.Model, GPULayers: o.GPULayers, Progress: o.Progress}.ModelOptions())
	if err != nil {
		return nil, err
	}
	e, err := newEmbedder(model, o)
	if err != nil {
		return nil, errors.Join(err, model.Close())
	}
	e.owned = true
	return e, nil
}

// Embedder makes a context for embeddings or scores that shares the engine's weights. It must be
// closed before the engine.
func (e *Engine) Embedder(o EmbedderOptions) (*Embedder, error) {
	if e.backend.workers != nil {
		return nil, fmt.Errorf("embeddings of the chat model: %w", ErrRemote)
	}
	return newEmbedder(e.weights, e.EmbedderOptions(o))
}

// EmbedderOptions are those with which Embedder makes its context.
func (e *Engine) EmbedderOptions(o EmbedderOptions) EmbedderOptions {
	o.Name, o.Model, o.Context = e.info.Name, e.identity.options.Model, e.identity.options.Context
	return o
}

func newEmbedder(model *native.Model, o EmbedderOptions) (*Embedder, error) {
	info := model.Info()
	options := o.ContextOptions(info)
	c, err := native.NewContext(model, options)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", o.Name, err)
	}
	e := &Embedder{model: model, context: c, name: o.Name, scores: o.Scores}
	e.limits = embedding.Limits{Inputs: options.Sequences, Tokens: c.Limits().Batch, Width: info.EmbeddingOut}
	if o.cuts(info) {
		e.limits.Tokens = options.Cells
	}
	if o.Scores {
		e.limits.Width = len(info.Classes)
	}
	e.limits.Input = min(e.limits.Tokens, c.Limits().Positions)
	if trained := c.Limits().Trained; trained > 0 {
		e.limits.Input = min(e.limits.Input, trained)
	}
	if err := e.Compute([][]int32{{0}}, func(int, []float32) {}); err != nil { // so the weights are in memory before the first request
		return nil, errors.Join(fmt.Errorf("model %s: the first pass: %w", o.Name, err), c.Close())
	}
	return e, nil
}

// cuts reports whether an input may be computed in several passes: a token sees none after it, and
// the cache has those before.
func (o EmbedderOptions) cuts(info native.ModelInfo) bool { return info.Generates() && !o.Scores }

// ContextOptions are those of the context that computes.
func (o EmbedderOptions) ContextOptions(info native.ModelInfo) native.ContextOptions {
	whole, piece := cmp.Or(o.UBatch, 512), cmp.Or(o.UBatch, 512)
	if o.cuts(info) {
		whole = cmp.Or(o.Batch, 2048)
		if !(Options{Model: o.Model, GPULayers: o.GPULayers}).onGPU() {
			piece = min(piece, chunk)
		}
	}
	if info.ContextTrain > 0 {
		whole = min(whole, max(info.ContextTrain, piece))
	}
	inputs := maxInputs
	if info.Recurrent || info.Hybrid {
		inputs = maxStates
	}
	output := native.Embeddings
	if o.Scores {
		output = native.Scores
	}
	threads := o.Threads
	if threads == 0 {
		threads = native.Threads(info.Size)
	}
	c := o.Context
	c.Cells, c.Batch, c.UBatch, c.Sequences, c.Rows = whole, piece, piece, inputs, 0
	c.Threads, c.Poll, c.Unified, c.Output = threads, poll, true, output
	return c
}

// Tokenize turns a text into tokens, as Engine.Tokenize does.
func (e *Embedder) Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error) {
	return tokenize(ctx, e.model, text, addSpecial, parseSpecial)
}

// Name is what clients call the model.
func (e *Embedder) Name() string { return e.name }

// Info describes the model.
func (e *Embedder) Info() native.ModelInfo { return e.model.Info() }

// Limits implements embedding.Backend.
func (e *Embedder) Limits() embedding.Limits { return e.limits }

// Compute implements embedding.Backend.
func (e *Embedder) Compute(inputs [][]int32, visit func(input int, vector []float32)) error {
	e.batch.Reset()
	for i, input := range inputs {
		for position, token := range input {
			e.batch.Add(token, int32(position), int32(i), true)
			if len(e.batch.Tokens) == e.context.Limits().Batch {
				if err := e.pass(visit); err != nil {
					return errors.Join(err, e.forget(len(inputs)))
				}
			}
		}
	}
	return errors.Join(e.pass(visit), e.forget(len(inputs)))
}

// pass computes what is in the batch and empties it.
func (e *Embedder) pass(visit func(input int, vector []float32)) error {
	defer e.batch.Reset()
	if len(e.batch.Tokens) == 0 {
		return nil
	}
	if err := e.context.Decode(&e.batch); err != nil {
		return err
	}
	for i := range e.context.Rows() {
		visit(int(e.batch.Sequences[i]), e.context.Row(i))
	}
	for i := 0; e.scores && i < len(e.batch.Sequences); i++ {
		sequence := e.batch.Sequences[i]
		if i > 0 && sequence == e.batch.Sequences[i-1] {
			continue
		}
		scores, err := e.context.Scores(sequence)
		if err != nil {
			return err
		}
		visit(int(sequence), scores)
	}
	return nil
}

// forget empties the memory of the model's context.
func (e *Embedder) forget(inputs int) (err error) {
	for i := range inputs {
		err = errors.Join(err, e.context.Remove(int32(i), -1, -1))
	}
	return err
}

// Pause implements embedding.Backend.
func (e *Embedder) Pause() { e.context.Pause() }

// Resume implements embedding.Backend.
func (e *Embedder) Resume() { e.context.Resume() }

// Close implements embedding.Backend.
func (e *Embedder) Close() error {
	err := e.context.Close()
	if e.owned {
		err = errors.Join(err, e.model.Close())
	}
	return err
}

// Pair is the prompt by which a classifier scores a document for a query: the model's own template
// for that, or both texts with the tokens around them that the vocabulary asks for.
func (e *Embedder) Pair(ctx context.Context, query, document string) ([]int32, error) {
	return pair(ctx, e.model, query, document)
}

// Pair does what Embedder.Pair does.
func (e *Engine) Pair(ctx context.Context, query, document string) ([]int32, error) {
	return pair(ctx, e.model, query, document)
}

func pair(ctx context.Context, m *native.Model, query, document string) ([]int32, error) {
	template, err := m.ChatTemplate("rerank")
	if err != nil {
		return nil, err
	}
	if template != "" {
		text := strings.NewReplacer("{query}", query, "{document}", document).Replace(template)
		return tokenize(ctx, m, text, false, true)
	}
	asked, err := tokenize(ctx, m, query, false, false)
	if err != nil {
		return nil, err
	}
	given, err := tokenize(ctx, m, document, false, false)
	if err != nil {
		return nil, err
	}
	info := m.Info()
	special := info.Special
	end := special.EOS
	if end < 0 {
		end = special.SEP
	}
	var prompt []int32
	add := func(wanted bool, token int32) {
		if wanted && token >= 0 {
			prompt = append(prompt, token)
		}
	}
	add(info.AddBOS, special.BOS)
	prompt = append(prompt, asked...)
	add(info.AddEOS, end)
	add(info.AddSEP, special.SEP)
	prompt = append(prompt, given...)
	add(info.AddEOS, end)
	return prompt, nil
}

// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/pausing"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/draft"
)

// embeddings are what gives embeddings and scores, beside the model that chats or with its weights.
type embeddings struct {
	vectors, scores *embedding.Model // nil: nothing does
}

// Embedder is a model for embeddings without a host around it.
type Embedder struct {
	*embedding.Model
	opened closers
}

// OpenEmbedder finds, checks and loads a model for embeddings alone: that of embedding.model, or
// else that of model.path. progress is called with 0 to 1 while the weights load; nil is fine. It
// stops soon after ctx is done.
func OpenEmbedder(ctx context.Context, c config.Config, log *slog.Logger, progress func(done float32)) (*Embedder, error) {
	o := embeddingOpener{loader: &loader{Options: Options{Passes: pausing.NewPasses()}, config: c, log: log, metrics: telemetry.NewMetrics("")}, progress: progress}
	m, err := o.openOwn(ctx, forVectors, cmp.Or(c.Embedding.Model, c.Model.Path))
	if err != nil {
		return nil, errors.Join(err, o.opened.Close())
	}
	return &Embedder{m, o.opened}, nil
}

// Close frees the model.
func (e *Embedder) Close() error { return e.opened.Close() }

// embeddingOpener opens the models of embeddings.
type embeddingOpener struct {
	*loader
	chat     *engine.Engine     // the model that chats; nil: there is none
	file     *model.File        // its file
	progress func(done float32) // may be nil
}

// What embeddings are made for, as errors, flags and metrics say it.
const (
	forVectors = "embedding"
	forScores  = "rerank"
)

// openEmbeddings prepares what the configuration asks for. A model of its own is loaded now; the
// one that chats embeds, too, unless there is such a model, from the first request on.
func (l *loader) openEmbeddings(ctx context.Context, chat *engine.Engine, file *model.File) (e embeddings, err error) {
	o := embeddingOpener{loader: l, chat: chat, file: file}
	c, lacks := l.config, file.Lacks
	alone := len(c.Workers.RPC) == 0
	scores := len(chat.Info().Classes) > 0
	switch {
	case c.Embedding.Model != "":
		e.vectors, err = o.openOwn(ctx, forVectors, c.Embedding.Model)
	case !scores && (c.Embedding.Enabled || !lacks.Has(model.Embedding) && alone):
		e.vectors, err = o.useServed(forVectors, c.Embedding.Enabled)
	}
	if err != nil {
		return e, err
	}
	switch {
	case c.Rerank.Model != "":
		e.scores, err = o.openOwn(ctx, forScores, c.Rerank.Model)
	case isScoring(c) || scores && !lacks.Has(model.Scoring) && alone:
		e.scores, err = o.useServed(forScores, isScoring(c))
	}
	return e, err
}

// openOwn loads a model for nothing but embeddings or scores.
func (o embeddingOpener) openOwn(ctx context.Context, kind, arg string) (*embedding.Model, error) {
	c := o.config
	left := model.AvailableMemory()
	if left > 0 && o.chat != nil { // the weights of the model that chats can be read again, but not all the time
		left = max(left-min(left, o.chat.Info().Size), 1)
	}
	of := c.Model
	if arg != of.Path {
		of = c.ForModel(arg).Model // without what is said of the model that chats alone
	}
	loading := modelOptions(of)
	file, err := model.Open(ctx, arg, model.CheckOptions{
		Folder:  c.Models.Dir,
		Kernels: native.KernelChoice(c.Model.Kernels), GPULayers: c.Model.GPULayers, Memory: left, Broken: o.Broken, WhileServing: o.WhileServing,
		Loading: loading, Computing: contextOptions(of),
		Trying: func() {
			o.log.Info("trying the model in a child process, as with every new file", slog.String("model", arg))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("the model for %s: %w", kind, err)
	}
	o.opened = append(o.opened, file.Close)
	o.Broken = file.Broken // which has those that it was given
	if err := refuse(file.Lacks, kind); err != nil {
		return nil, fmt.Errorf("the model for %s: %w", kind, err)
	}
	options := embedderOptions(c)
	options.Path, options.Name, options.Scores, options.Progress, options.Model = file.Path, file.Name, kind == forScores, o.progress, loading
	options.Context = contextOptions(of)
	if file.NoGPU != nil {
		options.GPULayers, options.Model = 0, withoutGPU(loading)
	}
	need, err := needOfEmbedder(ctx, file.Path, options)
	if err == nil {
		err = fit.Check(need, fit.Room{Main: left})
	}
	if err != nil {
		return nil, fmt.Errorf("the model for %s: %w", kind, err)
	}
	embedder, err := engine.OpenEmbedder(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("the model for %s: %w", kind, err)
	}
	file.GPUComputed()
	m := o.model(kind, embedder.Name(), embedder.Info(), embedder, func() (embedding.Backend, error) { return embedder, nil })
	o.opened = append(o.opened, m.Close)
	_, err = m.Open() // so that closing it closes the model
	if m.Pooling == embedding.PoolingRank && !options.Scores {
		return nil, fmt.Errorf("the model for %s, %s, scores documents: serve it with --rerank-model", kind, file.Name)
	}
	o.log.Info("model for "+kind+" loaded", slog.String("model", file.Name), slog.String("pooling", string(m.Pooling)))
	return m, err
}

// useServed has the model that chats give embeddings or scores: now, or once they are asked for.
func (o embeddingOpener) useServed(kind string, now bool) (*embedding.Model, error) {
	if err := refuse(o.file.Lacks, kind); err != nil {
		return nil, fmt.Errorf("%w; choose another model with --%s-model", err, kind)
	}
	if len(o.config.Workers.RPC) > 0 {
		return nil, fmt.Errorf("%w; choose another model with --%s-model", engine.ErrRemote, kind)
	}
	options := embedderOptions(o.config)
	options.Scores = kind == forScores
	info := o.chat.Info()
	m := o.model(kind, info.Name, info.ModelInfo, o.chat, func() (embedding.Backend, error) {
		need, err := needOfEmbedder(context.Background(), o.file.Path, o.chat.EmbedderOptions(options))
		if err == nil {
			err = fit.Check(need.BesideWeights(), fit.Room{Main: model.AvailableMemory()})
		}
		if err != nil {
			return nil, err
		}
		return o.chat.Embedder(options)
	})
	o.opened = append(o.opened, m.Close)
	if !now {
		return m, nil
	}
	if _, err := m.Open(); err != nil {
		return nil, fmt.Errorf("%w; choose another model with --%s-model", err, kind)
	}
	return m, nil
}

// needOfEmbedder is what a model takes that gives embeddings or scores.
func needOfEmbedder(ctx context.Context, path string, o engine.EmbedderOptions) (model.Need, error) {
	of := engine.Options{Path: path, Model: o.Model, GPULayers: o.GPULayers}
	return askDryRun(ctx, config.Config{}, of, func(dry *dryRun) (model.Need, error) { return dry.embedding(ctx, o) })
}

// refuse tells what the trial of a model found that it cannot do.
func refuse(lacks model.Lacks, kind string) error {
	what := model.Embedding
	if kind == forScores {
		what = model.Scoring
	}
	for _, l := range lacks {
		if l.What == what {
			return fmt.Errorf("llama.cpp cannot compute with it for %s: %s", what, l.Why)
		}
	}
	return nil
}

// poolings are the kinds of pooling by what model files say.
var poolings = map[native.Pooling]embedding.Pooling{
	native.PoolingMean: embedding.PoolingMean, native.PoolingCLS: embedding.PoolingCLS, native.PoolingLast: embedding.PoolingLast,
	native.PoolingRank: embedding.PoolingRank,
}

func (o embeddingOpener) model(kind, name string, info native.ModelInfo, text embedding.Text, open func() (embedding.Backend, error)) *embedding.Model {
	m := &embedding.Model{
		Service: embedding.New(embedding.Options{Open: open, QueueLimit: o.config.Scheduler.MaxQueue, Gate: &o.Passes.Embeddings, Observer: o.metrics.Embeddings(kind)}),
		Text:    text, Name: name, Vocabulary: info.Vocabulary, Pooling: poolings[info.Pooling], Normalize: o.config.Embedding.Normalize,
	}
	if asked := o.config.Embedding.Pooling; asked != "auto" && asked != "rank" {
		m.Pooling = embedding.Pooling(asked)
	}
	if m.OneVector = m.Pooling; m.OneVector == "" { // the last token is the only one that has seen all, where they see none after them
		m.OneVector = embedding.PoolingMean
		if info.Causal {
			m.OneVector = embedding.PoolingLast
		}
	}
	return m
}

// drafter is what guesses tokens of a model's answers.
type drafter struct {
	draft.Drafter        // nil: nothing does
	name          string // by llama-server's name of the type; empty: none
}

var errNoDraftModel = errors.New("speculation.type is draft-simple, but speculation.draft_model names no model")

// openDrafter opens what the configuration asks for.
func (l *loader) openDrafter(ctx context.Context, e *engine.Engine) (drafter, error) {
	s := l.config.Speculation
	switch {
	case !s.Drafts():
		return drafter{}, nil
	case !e.Backend().Limits().Drafts:
		l.log.Info("no tokens are guessed (speculative decoding): the model's memory cannot drop those that turn out wrong, and no earlier states of it are kept: llama.cpp cannot for this architecture, or the memory is too small")
		return drafter{}, nil
	case s.ByModel():
		d, err := l.openDraftModel(ctx, e)
		if err != nil {
			return drafter{}, fmt.Errorf("speculation.draft_model: %w", err)
		}
		return drafter{d, "draft-simple"}, nil
	case slices.Contains(s.Type, "draft-simple"):
		return drafter{}, errNoDraftModel
	}
	var lookup draft.Drafter
	if s.ByLookup() {
		lookup = draft.NewLookup(s.NgramSize)
	}
	if d := e.HeadDrafter(lookup); d != nil {
		l.log.Info("the model's head guesses tokens (speculative decoding)")
		return drafter{d, l.head}, nil
	}
	if lookup == nil {
		l.log.Warn("no tokens are guessed (speculative decoding): speculation.type names heads alone, and there is none that can be used; add ngram-simple")
		return drafter{}, nil
	}
	return drafter{lookup, "ngram-simple"}, nil
}

func (l *loader) openDraftModel(ctx context.Context, target *engine.Engine) (*engine.DraftModel, error) {
	c := l.config
	if head, kind := model.HeadFile(c.Speculation.DraftModel, model.CheckOptions{Folder: c.Models.Dir}); head != "" {
		if len(c.Workers.RPC) > 0 {
			return nil, fmt.Errorf("%s is nothing but a head (%s), which is %w", head, kind, engine.ErrRemote)
		}
		return nil, fmt.Errorf("%s is nothing but a head (%s): add draft-mtp to speculation.type", head, kind)
	}
	file, err := model.Open(ctx, c.Speculation.DraftModel, model.CheckOptions{
		Folder: c.Models.Dir, Kernels: native.KernelChoice(c.Model.Kernels), GPULayers: c.Speculation.DraftGPULayers,
		Trying: func() { l.log.Info("trying the draft model in a child process, as with every new file") },
	})
	if err != nil {
		return nil, err
	}
	l.opened = append(l.opened, file.Close)
	options := draftOptions(c, file.Path, target.Info().Limits.Cells)
	options.Lacks = lacksOf(file, l.log)
	small, err := engine.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	d, err := engine.NewDraftModel(target, small)
	if err != nil {
		return nil, errors.Join(err, small.Close())
	}
	l.opened = append(l.opened, d.Close)
	return d, nil
}

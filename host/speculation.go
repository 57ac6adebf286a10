// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/draft"
)

// mostDraftRows is how many rows a pass has for guessed tokens of all slots: a row of a vocabulary of 128,256 takes half a megabyte.
const mostDraftRows = 32

// draftRows is how many of them there are.
func draftRows(c config.Speculation) int {
	if !c.Drafts() {
		return 0
	}
	return max(mostDraftRows, c.DraftNMax)
}

// mostSnapshots bounds the drafts of recurrent models: each token takes the memory of one more state of each sequence.
const mostSnapshots = 8

// snapshots is how many states of a recurrent model drafts can go back to.
func snapshots(c config.Speculation) int {
	if !c.Drafts() {
		return 0
	}
	return min(mostSnapshots, c.DraftNMax)
}

// guesses is what guesses tokens of a model's answers.
type guesses struct {
	drafter draft.Drafter // nil: nothing does
	name    string        // by llama-server's name of the type; empty: none
	model   *engine.DraftModel
	file    io.Closer // of the draft model
}

var errNoDraftModel = errors.New("speculation.type is draft-simple, but speculation.draft_model names no model")

// openGuesses opens what a configuration asks for.
func openGuesses(ctx context.Context, c config.Config, e *engine.Engine, log *slog.Logger) (*guesses, error) {
	s := c.Speculation
	switch {
	case !s.Drafts():
		return &guesses{}, nil
	case !e.Backend().Limits().Drafts:
		log.Info("no tokens are guessed (speculative decoding): the model's memory cannot drop those that turn out wrong, and no earlier states of it are kept: llama.cpp cannot for this architecture, or the memory is too small")
		return &guesses{}, nil
	case s.ByModel():
		return openDraftModel(ctx, c, e, log)
	case slices.Contains(s.Type, "draft-simple"):
		return nil, errNoDraftModel
	}
	return &guesses{drafter: draft.NewLookup(s.NgramSize), name: "ngram-simple"}, nil
}

func openDraftModel(ctx context.Context, c config.Config, target *engine.Engine, log *slog.Logger) (*guesses, error) {
	file, err := model.Open(ctx, c.Speculation.DraftModel, model.Options{
		Folder: c.Models.Dir, Kernels: native.KernelChoice(c.Model.Kernels), GPULayers: c.Speculation.DraftGPULayers,
		Trying: func() { log.Info("trying the draft model in a child process, as with every new file") },
	})
	if err != nil {
		return nil, fmt.Errorf("speculation.draft_model: %w", err)
	}
	options := draftOptions(c, file.Path, target.Info().Limits.Cells)
	options.Lacks = lacksOf(file, log)
	small, err := engine.Open(ctx, options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("speculation.draft_model: %w", err), file.Close())
	}
	d, err := engine.NewDraftModel(target, small)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("speculation.draft_model: %w", err), small.Close(), file.Close())
	}
	return &guesses{drafter: d, name: "draft-simple", model: d, file: file}, nil
}

// draftOptions are those of a draft model beside a model with so many cells.
func draftOptions(c config.Config, path string, cells int) engine.Options {
	return engine.Options{Path: path, Slots: c.Scheduler.Slots, ContextSize: cells, Batch: c.Scheduler.BatchSize, UBatch: c.Scheduler.UBatchSize,
		Threads: c.Model.Threads, GPULayers: c.Speculation.DraftGPULayers, KVLayout: c.Model.KVLayout}
}

// Close frees the draft model. The scheduler's Run must have returned.
func (g *guesses) Close() error {
	if g == nil || g.model == nil {
		return nil
	}
	return errors.Join(g.model.Close(), g.file.Close())
}

// SPDX-License-Identifier: MIT

package loading

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/draft"
)

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
	return drafter{draft.NewLookup(s.NgramSize), "ngram-simple"}, nil
}

func (l *loader) openDraftModel(ctx context.Context, target *engine.Engine) (*engine.DraftModel, error) {
	c := l.config
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

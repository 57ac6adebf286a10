// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/answer"
)

// localModel is a model for one user in a terminal.
type localModel struct {
	*loading.Core
	stop    context.CancelFunc
	stopped chan error // what the scheduler's Run returned
}

// openLocalModel loads the model of cfg with one slot. It stops soon after ctx is done.
func openLocalModel(ctx context.Context, cfg config.Config, log *slog.Logger, progress func(done float32)) (*localModel, error) {
	cfg.Scheduler.Slots = 1
	cfg.Embedding.Enabled, cfg.Embedding.Model, cfg.Rerank = false, "", config.Rerank{} // nobody asks for these in a terminal
	native.SetLogger(log.With(slog.String("from", "llama.cpp")))
	core, err := loading.Open(ctx, cfg, log, loading.Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	s := &localModel{core, stop, make(chan error, 1)}
	go func() { s.stopped <- core.Scheduler.Run(running) }()
	return s, nil
}

// Close ends what runs and frees the model.
func (s *localModel) Close() error {
	s.stop()
	return errors.Join(<-s.stopped, s.Core.Close())
}

// answerOptions are the options of an answer in the terminal.
type answerOptions struct {
	common    completion.CommonFields
	maxTokens int // 0: until the context is full
	raw       bool
	files     attached
	limits    media.Bounds // of the files
}

// alone are the models of a terminal: one.
type alone struct {
	serving.Models
	model *serving.Model
}

// Use implements serving.Models.
func (a alone) Use(context.Context, string) (*serving.Model, func(), error) {
	return a.model, func() {}, nil
}

// Seeing implements serving.Models.
func (alone) Seeing(name string) string { return name }

// answer is an answerer with the given options.
func (s *localModel) answer(o answerOptions) answerer {
	service := completion.NewService(alone{model: s.Model})
	service.Media = media.NewLoader(o.limits)
	me := completion.Caller{Administers: true, Files: o.files.file, TakeScript: func(string, string) error { return nil }}
	asked := completion.Asked{Caller: me, PromptField: "prompt", Common: o.common, Answers: completion.OneAnswer()}
	asked.Limit = &o.maxTokens
	return func(ctx context.Context, messages []chat.Message, show func(string) error) (string, error) {
		asked := asked
		asked.Source = completion.Chat{Conversation: chat.Conversation{Messages: messages, Media: o.files.parts}}
		if o.raw {
			asked.Source = completion.Text(messages[len(messages)-1].Content)
		}
		r, err := service.Prompt(ctx, asked)
		if err != nil {
			return "", err
		}
		defer r.Release()
		a, err := service.Submit(ctx, r, completion.Reading{Parts: true})
		if err != nil {
			return "", err
		}
		defer a.Cancel()
		return read(ctx, a, show)
	}
}

// read shows an answer's text, all that the model writes, until its end.
func read(ctx context.Context, a *completion.Submitted, show func(string) error) (string, error) {
	var all []byte
	err := a.Read(ctx, func(_ *completion.Choice, d completion.Delta) error {
		if ctx.Err() != nil {
			return ctx.Err() // after an interrupt nobody wants what had arrived and was not shown
		}
		all = append(all, d.Event.Text...)
		if err := show(d.Event.Text); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		return nil
	}, func() error { return ctx.Err() })
	if err == nil && a.Choices[0].End.Reason == answer.ReasonCancelled {
		err = context.Canceled
	}
	return string(all), err
}

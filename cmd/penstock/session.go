// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// session is a model for one user in a terminal.
type session struct {
	*loading.Core
	stop    context.CancelFunc
	stopped chan error // what the scheduler's Run returned
}

// openSession loads the model of cfg with one slot. It stops soon after ctx is done.
func openSession(ctx context.Context, cfg config.Config, log *slog.Logger, progress func(done float32)) (*session, error) {
	cfg.Scheduler.Slots = 1
	cfg.Embedding.Enabled, cfg.Embedding.Model, cfg.Rerank = false, "", config.Rerank{} // nobody asks for these in a terminal
	native.SetLogger(log.With(slog.String("from", "llama.cpp")))
	core, err := loading.Open(ctx, cfg, log, loading.Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	s := &session{core, stop, make(chan error, 1)}
	go func() { s.stopped <- core.Scheduler.Run(running) }()
	return s, nil
}

// Close ends what runs and frees the model.
func (s *session) Close() error {
	s.stop()
	return errors.Join(<-s.stopped, s.Core.Close())
}

// answerOptions are the options of an answer in the terminal.
type answerOptions struct {
	params    sampling.Params
	maxTokens int // 0: until the context is full
	raw       bool
}

// prompt turns messages into a prompt; a raw prompt is only the text of the last message.
func (s *session) prompt(ctx context.Context, messages []chat.Message, o answerOptions, plugins serving.Plugins) (chat.Prompt, error) {
	encoder := chat.Encoder{Model: s.Engine, Context: s.Model.Context}
	if o.raw {
		tokens, err := encoder.Text(ctx, messages[len(messages)-1].Content)
		return chat.Prompt{Tokens: tokens}, err
	}
	written, err := plugins.Render(ctx, o.params, messages)
	if err != nil {
		return chat.Prompt{}, err
	}
	return encoder.Conversation(ctx, chat.Conversation{Messages: messages, Written: written})
}

// answer is an answerer with the given options.
func (s *session) answer(o answerOptions) answerer {
	return func(ctx context.Context, messages []chat.Message, show func(string) error) (string, error) {
		plugins, err := s.Policies.Resolve("", nil, o.params.Chain)
		if err != nil {
			return "", err
		}
		defer plugins.Release()
		prompt, err := s.prompt(ctx, messages, o, plugins)
		if err != nil {
			return "", err
		}
		policy, err := plugins.NewPolicy(o.params, serving.Ends{MaxTokens: o.maxTokens, Stops: prompt.Stops})
		if err != nil {
			return "", err
		}
		stream, err := s.Scheduler.Submit(scheduler.Request{
			Prompt: []scheduler.Segment{{Tokens: prompt.Tokens}}, Chain: policy.Stages, Rules: policy.Rules, Stop: prompt.Stops,
			MaxTokens: o.maxTokens, Logprobs: -1, CachePrompt: true,
		})
		if err != nil {
			return "", err
		}
		defer stream.Cancel()
		return read(ctx, stream, show)
	}
}

// read shows a stream's text until its end.
func read(ctx context.Context, stream *scheduler.Stream, show func(string) error) (string, error) {
	var all []byte
	for {
		event, err := stream.Next(ctx)
		if err = cmp.Or(ctx.Err(), err); err != nil { // after an interrupt nobody wants what had arrived and was not shown
			return string(all), err
		}
		all = append(all, event.Text...)
		if err := show(event.Text); err != nil {
			return string(all), fmt.Errorf("write the answer: %w", err)
		}
		if event.Kind == scheduler.KindEnd {
			return string(all), endError(event.End)
		}
	}
}

func endError(end *scheduler.End) error {
	switch end.Reason {
	case answer.ReasonError:
		return end.Err
	case answer.ReasonCancelled:
		return context.Canceled
	}
	return nil
}

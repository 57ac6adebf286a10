// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// generation is a request as the scheduler can take it: each prompt is answered n times.
type generation struct {
	field    string // of the body that holds the prompt
	prompts  [][]scheduler.Token
	text     string // what the prompt of a conversation was made of
	n        int
	params   sampling.Params
	uses     []PluginUse
	stop     []string
	max      int // tokens to generate; 0: as many as fit
	logprobs int // alternatives a token; -1: none
	deadline time.Time
	priority int
	cache    bool
	salt     string        // see cacheSalt
	client   string        // see service.client
	detach   time.Duration // how long it may outlive its connection

	stream bool
	usage  bool // a last frame of a stream has the usage
}

// plan fills in what all bodies share. The prompts and log-probabilities are the caller's.
func (s *service) plan(b *Common, field string) (generation, error) {
	if b.Model != "" && b.Model != s.Model.Name {
		return generation{}, s.unknownModel(b.Model)
	}
	base := sampling.Default()
	base.Seed, base.Trace = sampling.RandomSeed(), b.Trace
	params, err := b.Params(base, vocabulary{s})
	if err != nil {
		return generation{}, err
	}
	uses, err := b.uses()
	if err != nil {
		return generation{}, err
	}
	if s.Policies == nil {
		if err := refusePlugins(uses, params.Chain); err != nil {
			return generation{}, err
		}
	}
	limit, err := b.maxTokens()
	if err != nil {
		return generation{}, err
	}
	stops, err := b.stops()
	if err != nil {
		return generation{}, err
	}
	return generation{field: field, n: b.choices(), params: params, uses: uses, stop: stops, max: limit, logprobs: -1,
		priority: b.Priority, cache: b.CachePrompt,
		stream: b.Stream, usage: b.StreamOptions.IncludeUsage}, nil
}

func namesPlugin(entry string) bool {
	_, ok := sampling.PluginNamed(entry)
	return ok
}

func (s *service) unknownModel(name string) *Error {
	return &Error{Status: http.StatusNotFound, Code: "model_not_found", Type: typeInvalid, Param: "model",
		Message: fmt.Sprintf("there is no model %q here; this server has %q", name, s.Model.Name)}
}

// start submits every choice of g, prompt by prompt: all of them or none.
func (s *service) start(ctx context.Context, g *generation) (_ []Stream, err error) {
	requests := make([]scheduler.Request, 0, len(g.prompts)*g.n)
	for _, prompt := range g.prompts {
		if len(prompt) >= s.Model.Context {
			err = &Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Type: typeInvalid, Param: g.field,
				Message: fmt.Sprintf("the prompt has %d tokens; the context holds %d, the answer included", len(prompt), s.Model.Context)}
		}
		for range g.n {
			if err == nil {
				requests, err = s.add(ctx, requests, g, prompt)
			}
		}
	}
	if err != nil {
		discard(requests)
		if errors.Is(err, errGone) {
			return nil, err
		}
		return nil, problem(err, g.field)
	}
	streams, err := s.Scheduler.SubmitAll(requests)
	if errors.Is(err, scheduler.ErrTooMany) {
		field := g.field
		if g.n > 1 {
			field = "n"
		}
		return nil, invalid(field, "%v; ask for fewer, or in several requests", err)
	}
	if err != nil {
		return nil, problem(err, g.field)
	}
	return streams, nil
}

// add appends one choice.
func (s *service) add(ctx context.Context, requests []scheduler.Request, g *generation, prompt []scheduler.Token) ([]scheduler.Request, error) {
	params := g.params.ForChoice(uint32(len(requests)))
	p, err := atDesk(ctx, s.desk, g.deadline, len(params.Grammar), func() (Policy, error) { return s.newPolicy(g, params) }, Policy.discard)
	if err != nil {
		return requests, chainProblem(err, params)
	}
	buffer, trace := 0, 0
	if g.detach > 0 {
		buffer = detachedBuffer
	}
	if params.Trace {
		trace = maxTraced
	}
	return append(requests, scheduler.Request{
		Prompt:      []scheduler.Segment{{Tokens: prompt}},
		MaxTokens:   g.max,
		Stop:        g.stop,
		IgnoreEOG:   params.IgnoreEOS,
		Chain:       p.Stages,
		Rules:       p.Rules,
		Logprobs:    g.logprobs,
		Trace:       trace,
		Priority:    g.priority,
		Deadline:    g.deadline,
		CachePrompt: g.cache,
		CacheSalt:   g.salt,
		Buffer:      buffer,
		Keep:        g.detach > 0,
	}), nil
}

// discard frees the stages of requests that are not submitted.
func discard(requests []scheduler.Request) {
	for _, r := range requests {
		Policy{r.Chain, r.Rules}.discard()
	}
}

// chainProblem tells which field the engine could not use. The other parameters have been checked by name, so it is
// the grammar where there is one.
func chainProblem(err error, p sampling.Params) error {
	var named *sampling.Invalid
	if !errors.Is(err, sampling.ErrInvalid) || errors.As(err, &named) {
		return err
	}
	if p.Grammar != "" {
		return invalid("grammar", "the grammar cannot be used: %v", err)
	}
	return invalid("samplers", "%v", err)
}

func cancel(streams []Stream) {
	for _, st := range streams {
		st.Cancel()
	}
}

// vocabulary shows the model's tokens to package sampling.
type vocabulary struct{ s *service }

func (v vocabulary) Size() int { return v.s.Model.Vocabulary }
func (v vocabulary) Tokenize(text string) ([]int32, error) {
	tokens, err := v.s.encoder().Plain(text)
	return tokens, textError(err, "logit_bias")
}

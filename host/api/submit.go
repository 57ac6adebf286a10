// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// submit turns every choice of g into a scheduler.Request, prompt by prompt, and submits all of them or none.
func (s *service) submit(ctx context.Context, g *generation) (_ []Stream, err error) {
	if err := g.caller.checkPriority(g.priority); err != nil {
		return nil, err
	}
	if g.detach > 0 && s.detachables.full() {
		return nil, &Error{Status: http.StatusTooManyRequests, Code: "too_many_detachable", Type: TypeBusy, Param: "detach_ms",
			Message: "too many answers outlive their connections; try again later or without detach_ms"}
	}
	requests := make([]scheduler.Request, 0, len(g.prompts)*g.choices)
	for _, prompt := range g.prompts {
		if len(prompt) >= s.Model.Context {
			err = &Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Type: TypeInvalid, Param: g.promptField,
				Message: fmt.Sprintf("the prompt has %d tokens; the context holds %d, the answer included", len(prompt), s.Model.Context)}
		}
		for range g.choices {
			if err == nil {
				requests, err = s.addChoice(ctx, requests, g, prompt)
			}
		}
	}
	if err != nil {
		discard(requests)
		if errors.Is(err, errGone) {
			return nil, err
		}
		return nil, asError(err, g.promptField)
	}
	streams, err := s.Scheduler.SubmitAll(requests)
	if errors.Is(err, scheduler.ErrTooMany) {
		field := g.promptField
		if g.choices > 1 {
			field = "n"
		}
		return nil, Invalid(field, "%v; ask for fewer, or in several requests", err)
	}
	if err != nil {
		return nil, asError(err, g.promptField)
	}
	return streams, nil
}

// addChoice appends the request for one choice.
func (s *service) addChoice(ctx context.Context, requests []scheduler.Request, g *generation, prompt []scheduler.Token) ([]scheduler.Request, error) {
	params := g.params.ForChoice(uint32(len(requests)))
	p, err := inPool(ctx, s.textPool, g.deadline, len(params.Grammar), func() (Policy, error) { return s.newPolicy(g, params) }, Policy.discard)
	if err != nil {
		return requests, chainError(err, params)
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
		MaxTokens:   g.maxTokens,
		Stop:        g.stops,
		IgnoreEOG:   params.IgnoreEOS,
		Chain:       p.Stages,
		Rules:       p.Rules,
		Logprobs:    g.logprobs,
		Trace:       trace,
		Priority:    g.priority,
		Deadline:    g.deadline,
		CachePrompt: g.cachePrompt,
		CacheSalt:   g.caller.cacheSalt,
		Buffer:      buffer,
		Keep:        g.detach > 0,
	}), nil
}

// discard closes the policies of requests that are not submitted.
func discard(requests []scheduler.Request) {
	for _, r := range requests {
		Policy{r.Chain, r.Rules}.discard()
	}
}

// chainError tells which field the engine could not use. The other parameters have been checked by name, so it is
// the grammar if there is one.
func chainError(err error, p sampling.Params) error {
	var named *sampling.Invalid
	if !errors.Is(err, sampling.ErrInvalid) || errors.As(err, &named) {
		return err
	}
	if p.Grammar != "" {
		return Invalid("grammar", "the grammar cannot be used: %v", err)
	}
	return Invalid("samplers", "%v", err)
}

func cancel(streams []Stream) {
	for _, st := range streams {
		st.Cancel()
	}
}

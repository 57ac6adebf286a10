// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// Submit turns every choice of a request into a scheduler.Request, prompt by prompt, and submits all of them or none.
func (s *Service) Submit(ctx context.Context, r *Request) (_ []Stream, err error) {
	defer r.hasArrived()
	if err := r.checkCall(); err != nil {
		return nil, err
	}
	requests := make([]scheduler.Request, 0, len(r.Prompts)*r.Choices)
	for _, prompt := range r.Prompts {
		if len(prompt) >= r.Model.Context {
			err = &Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Type: TypeInvalid, Param: r.PromptField,
				Message: fmt.Sprintf("the prompt has %d tokens; the context holds %d, the answer included", len(prompt), r.Model.Context),
				Numbers: map[string]int{"n_prompt_tokens": len(prompt), "n_ctx": r.Model.Context}}
		}
		for range r.Choices {
			if err == nil {
				requests, err = s.addChoice(ctx, requests, r, prompt)
			}
		}
	}
	if err != nil {
		discard(requests)
		if errors.Is(err, ErrGone) {
			return nil, err
		}
		return nil, AsError(err, r.PromptField)
	}
	op := operation.From(ctx)
	if op != nil {
		for i := range requests {
			requests[i].Ended = op.Ended
		}
	}
	streams, err := r.Model.Scheduler.SubmitAll(requests)
	if errors.Is(err, scheduler.ErrTooMany) {
		field := r.PromptField
		if r.Choices > 1 {
			field = "n"
		}
		return nil, Invalid(field, "%v; ask for fewer, or in several requests", err)
	}
	if err != nil {
		return nil, AsError(err, r.PromptField)
	}
	op.Submitted(r.Model.Name, len(streams))
	return streams, nil
}

// addChoice appends the request for one choice.
func (s *Service) addChoice(ctx context.Context, requests []scheduler.Request, r *Request, prompt []scheduler.Token) ([]scheduler.Request, error) {
	adapters, err := r.adapters(prompt)
	if err != nil {
		return requests, err
	}
	params := r.Params.ForChoice(uint32(len(requests) % r.Choices)) // the choices of one prompt differ
	params.Trace = params.Trace || r.Candidates > 0
	p, err := inPool(ctx, s.pool, r.Deadline, params.Constraint.Size(), func(context.Context) (Policy, error) { return r.newPolicy(params) }, Policy.discard)
	if err != nil {
		return requests, chainError(r.schemaError(err), params)
	}
	if r.recording != nil {
		p = r.recording.Watch(RecordedChoice{len(requests), params.Seed, len(prompt), len(r.begun)}, p)
	}
	r.renew = p.Renew // the same for all choices: their plugins are
	buffer, trace := 0, 0
	if r.Detachable {
		buffer = keptBuffer
	}
	if params.Trace {
		trace = max(MaxTraced, r.Candidates)
	}
	if r.Rules != nil {
		p.Rules = append(p.Rules, r.Rules()...)
	}
	request := scheduler.Request{
		Prompt:       []scheduler.Segment{{Tokens: prompt}},
		MaxTokens:    r.MaxTokens,
		Stop:         r.Stops,
		IgnoreEOG:    params.IgnoreEOS,
		Preserved:    p.Preserved,
		Chain:        p.Stages,
		Rules:        p.Rules,
		Logprobs:     r.Logprobs,
		Trace:        trace,
		Priority:     r.Extras.Priority,
		Deadline:     r.Deadline,
		CachePrompt:  r.Extras.CachePrompt,
		CacheSalt:    r.Caller.CacheSalt,
		Adapters:     adapters.set,
		AdaptersFrom: adapters.from,
		Begun:        r.begun,
		Overflow:     r.Overflow,
		Buffer:       buffer,
		Keep:         r.Detachable,
		Slot:         r.Slot,
		Progress:     r.Progress,
	}
	r.Extras.Guessing.tell(&request)
	if r.Model.ContextShift {
		shift := r.Shift
		if r.Model.AddBOS && shift.Keep >= 0 {
			shift.Keep++ // as llama-server counts
		}
		request.Shift = &shift
	}
	return append(requests, request), nil
}

// MaxTraced is how many candidates a trace shows at each point.
const MaxTraced = 10

// keptBuffer is how many events a stream that keeps what was read may be ahead of its reader.
const keptBuffer = 1024

// discard closes the policies of requests that are not submitted.
func discard(requests []scheduler.Request) {
	for _, r := range requests {
		Policy{Stages: r.Chain, Rules: r.Rules}.discard()
	}
}

// schemaError has the refusal of a JSON schema name the field that it came from.
func (r *Request) schemaError(err error) error {
	const usual = "json_schema"
	var refused *sampling.Invalid // by the engine
	var unfit *chat.Invalid       // for the template
	switch {
	case r.SchemaField == "":
		return err
	case errors.As(err, &refused) && refused.Field == usual:
		return Invalid(r.SchemaField, "%s%s", r.SchemaField, strings.TrimPrefix(refused.Error(), usual))
	case errors.As(err, &unfit) && unfit.Field == usual:
		return Invalid(r.SchemaField, "%s %s", r.SchemaField, unfit.Reason)
	}
	return err
}

// chainError tells which field the engine could not use. The other parameters have been checked by name, so it is
// the grammar if there is one.
func chainError(err error, p sampling.Params) error {
	var named *sampling.Invalid
	if !errors.Is(err, sampling.ErrInvalid) || errors.As(err, &named) {
		return err
	}
	if p.IsSet() {
		return Invalid(p.Field(), "%s cannot be used: %v", p.Field(), err)
	}
	return Invalid("samplers", "%v", err)
}

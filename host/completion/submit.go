// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// Submit turns every choice of a request into a scheduler.Request, prompt by prompt, and submits
// all of them or none. There must be room for all before a picture or a sound is encoded and any
// of them is built: each has a sampler chain, with a grammar perhaps.
func (s *Service) Submit(ctx context.Context, r *TextRequest) ([]serving.Stream, error) {
	defer r.hasArrived()
	if err := r.checkCall(); err != nil {
		return nil, err
	}
	for _, prompt := range r.Prompts {
		if len(prompt) >= r.Model.Context {
			return nil, refusal.TooLong(r.PromptField, len(prompt), r.Model.Context)
		}
		r.limit(prompt)
	}
	branches := r.Plugins.Branches()
	if err := r.checkProgram(branches); err != nil {
		return nil, err
	}
	streams, err := r.Model.Scheduler.SubmitBuilt(r.Caller.ID, len(r.Prompts)*(r.Choices+max(0, branches-1)), func() ([]scheduler.Request, error) {
		if err := r.encodeMedia(ctx); err != nil {
			return nil, err
		}
		return s.build(ctx, r)
	})
	if err != nil {
		operation.From(ctx).Charge(r.encoding) // else the prompts count once they have ended
	}
	switch {
	case errors.Is(err, scheduler.ErrTooMany):
		field := r.PromptField
		if r.Choices > 1 {
			field = "n"
		}
		return nil, refusal.Invalid(field, "%v; ask for fewer, or in several requests", err)
	case errors.Is(err, refusal.ErrGone):
		return nil, err
	case err != nil:
		return nil, AsError(err, r.PromptField)
	}
	operation.From(ctx).Submitted(r.Model.Name, len(streams))
	operation.From(ctx).Relaxed(r.Relaxed)
	return streams, nil
}

// checkProgram refuses what a program among the plugins cannot have, which takes so many slots; 0:
// there is none.
func (r *TextRequest) checkProgram(branches int) error {
	const writes = "a plugin of this request writes the answer itself"
	switch {
	case branches == 0:
		return nil
	case branches > r.Model.MostBranches():
		return refusal.Invalid("plugins", "%s in %d branches at once, and this server allows %d and has %d slots: configure the plugin for fewer, or the server for more (programs.branches and scheduler.slots)",
			writes, branches, r.Model.MostBranches(), r.Model.Slots)
	case r.Slot != nil:
		return refusal.Invalid("id_slot", "id_slot is %d, but %s, in slots of its own: leave id_slot out", *r.Slot, writes)
	case len(r.begun.Tokens) > 0:
		return refusal.Invalid(r.PromptField, "%s, so an answer that has begun cannot go on with it", writes)
	case r.PromptLogprobs || r.NoAnswer:
		return refusal.Invalid(r.PromptField, "%s, so nothing is told of the prompt's tokens: leave echo out, and ask for at least one token", writes)
	}
	return nil
}

// limit tells the samplers how many tokens an answer to a prompt has at most: with several
// prompts, to the longest.
func (r *TextRequest) limit(prompt []scheduler.Token) {
	limits := [...]int{r.Params.Limit, r.MaxTokens, r.Model.Context - len(prompt)}
	if r.Model.ContextShift {
		limits[2] = 0
	}
	for _, n := range limits {
		if n > 0 && (r.Params.Limit == 0 || n < r.Params.Limit) {
			r.Params.Limit = n
		}
	}
}

// build makes the requests of all choices.
func (s *Service) build(ctx context.Context, r *TextRequest) (requests []scheduler.Request, err error) {
	requests = make([]scheduler.Request, 0, len(r.Prompts)*r.Choices)
	defer func() {
		if err != nil {
			discard(requests)
		}
	}()
	op := operation.From(ctx)
	params := r.Params
	constraint, err := inPool(ctx, s.pool, r.Caller, r.Deadline, params.Constraint.Size(), func(ctx context.Context) (sampling.Constraint, error) {
		return r.Model.Engine.Prepare(ctx, params)
	}, nil)
	if err != nil {
		return requests, chainError(r.constraintError(err), params)
	}
	r.Params.Constraint = constraint
	stopTokens, err := r.stopTokens(ctx)
	if err != nil {
		return requests, err
	}
	for _, prompt := range r.Prompts {
		adapters, err := r.adapters(prompt)
		if err != nil {
			return requests, err
		}
		first := len(requests)
		for range r.Choices {
			request, err := s.buildChoice(ctx, r, len(requests), prompt)
			if err != nil {
				return requests, err
			}
			request.Adapters, request.AdaptersFrom, request.Preserved, request.StopTokens = adapters.set, adapters.from, r.preserved, stopTokens
			request.Ended = op.Ended
			if len(requests) > first && requests[first].Program != nil {
				request.Program, request.Shift = requests[first].Program, nil
			}
			requests = append(requests, request)
		}
	}
	return requests, r.relax()
}

// preservedTokens are the control tokens that each answer shows.
func (r *TextRequest) preservedTokens() ([]scheduler.Token, error) {
	if len(r.Params.PreservedTokens) == 0 {
		return nil, nil
	}
	tokens, err := r.Model.Engine.PreservedTokens(r.Params)
	return tokens, chainError(err, r.Params)
}

// longestControl bounds the stop strings that are looked up among the control tokens, in bytes.
const longestControl = 256

// stopTokens are the control tokens that are stop strings. Answers do not have their texts, in
// which a stop string could be found.
func (r *TextRequest) stopTokens(ctx context.Context) (tokens []scheduler.Token, err error) {
	for _, stop := range r.Stops {
		if len(stop) > longestControl {
			continue
		}
		all, err := r.Model.Engine.Tokenize(ctx, stop, false, true)
		if err != nil {
			return nil, err
		}
		if len(all) == 1 && r.Model.Engine.Shown(all[0]) == "" && r.Model.Engine.Piece(all[0]) == stop && !slices.Contains(r.preserved, all[0]) {
			tokens = append(tokens, all[0])
		}
	}
	return tokens, nil
}

// buildChoice makes the request of one choice. index counts the choices of all prompts. Each
// choice enters the text pool by itself, so that others wait for one plugin's setup at most, and
// not for those of 128 choices.
func (s *Service) buildChoice(ctx context.Context, r *TextRequest, index int, prompt []scheduler.Token) (scheduler.Request, error) {
	params := r.Params.ForChoice(uint32(index % r.Choices)) // the choices of one prompt differ
	params.Trace = params.Trace || r.Candidates > 0
	p, err := inPool(ctx, s.pool, r.Caller, r.Deadline, 0, func(context.Context) (serving.Policy, error) {
		return r.Plugins.NewPolicy(params, serving.Ends{MaxTokens: r.MaxTokens, Stops: r.Stops, Time: r.asked, Choice: index % r.Choices, Choices: r.Choices, Parts: r.tellParts,
			Media: r.tellMedia(index / r.Choices), Chain: r.chainOf(params), Prompt: r.promptOf()})
	}, discardPolicy)
	if err != nil {
		return scheduler.Request{}, chainError(r.constraintError(err), params)
	}
	if r.recording != nil {
		p = r.recording.Watch(serving.RecordedChoice{Index: index, Seed: params.Seed, Prompt: len(prompt), Begun: len(r.begun.Tokens)}, p)
	}
	r.renew = p.Renew // the same for all choices: their plugins are
	trace := 0
	if params.Trace {
		trace = max(MaxTraced, r.Candidates)
	}
	if r.Rules != nil {
		p.Rules = append(p.Rules, r.Rules()...)
	}
	stops := r.Stops
	if own := stops[:len(stops)-len(r.Rendered.Stops)]; r.Rendered.NewParser != nil && len(own) > 0 && len(r.begun.Tokens) == 0 {
		stops, p.Rules = r.Rendered.Stops, append(p.Rules, newContentStops(r.Rendered, own))
	}
	request := scheduler.Request{
		Prompt:         []scheduler.Segment{{Tokens: prompt}},
		Pieces:         r.pieces,
		MaxTokens:      r.MaxTokens,
		Stop:           stops,
		IgnoreEOG:      params.IgnoreEOS,
		Chain:          p.Stages,
		Rules:          p.Rules,
		Logprobs:       r.Logprobs,
		Trace:          trace,
		PromptLogprobs: r.PromptLogprobs,
		NoAnswer:       r.NoAnswer,
		Priority:       r.Common.Priority,
		Deadline:       r.Deadline,
		CachePrompt:    r.Common.CachePrompt,
		CacheSalt:      r.Caller.CacheSalt,
		Begun:          r.begun,
		Overflow:       r.Overflow,
		Slot:           r.Slot,
		Progress:       r.Progress,
	}
	if p.Program != nil {
		p.Program.Tokens = r.Model.Programs.Tokens
	}
	r.Common.Guessing.tell(&request)
	if request.Program = p.Program; r.Model.ContextShift && p.Program == nil { // a program's branches end where the context is full
		shift := r.Shift
		if r.Model.AddBOS && shift.Keep >= 0 {
			shift.Keep++ // as llama-server counts
		}
		request.Shift = &shift
	}
	return request, nil
}

// MaxTraced is how many candidates a trace shows at each point.
const MaxTraced = 10

// discard closes the policies of requests that are not submitted.
func discard(requests []scheduler.Request) {
	for _, r := range requests {
		discardPolicy(serving.Policy{Stages: r.Chain, Rules: r.Rules})
	}
}

// constraintError has the refusal of a constraint name the field that it came from.
func (r *TextRequest) constraintError(err error) error {
	field := r.ConstraintField
	var refused *sampling.Invalid // by the engine
	var unfit *chat.Invalid       // for the template
	switch {
	case field == "":
		return err
	case errors.As(err, &refused) && sampling.IsConstraint(refused.Field):
		return refusal.Invalid(field, "%s%s", field, strings.TrimPrefix(refused.Error(), refused.Field))
	case errors.As(err, &unfit) && sampling.IsConstraint(unfit.Field):
		return refusal.Invalid(field, "%s %s", field, unfit.Reason)
	}
	return err
}

// chainError tells which field the engine could not use. The other parameters have been checked by
// name, so it is the grammar if there is one.
func chainError(err error, p sampling.Params) error {
	var named *sampling.Invalid
	if !errors.Is(err, sampling.ErrInvalid) || errors.As(err, &named) {
		return err
	}
	if p.IsSet() {
		return refusal.Invalid(p.Field(), "%s cannot be used: %v", p.Field(), err)
	}
	return refusal.Invalid("samplers", "%v", err)
}

// SPDX-License-Identifier: MIT

package completion

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/turns"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Submitted is a request whose answers are computed.
type Submitted struct {
	*Prompted
	Choices []*Choice // prompt by prompt
	Relaxed []string  // the places of JSON schemas that are not enforced, each with its field and the reason

	stops    []string                                     // the client's, and the template's
	tokens   []scheduler.Token                            // the control tokens that are stop strings
	adapters usedAdapters                                 // with what the last prompt is computed
	renew    func(sampling.Params) ([]chain.Stage, error) // builds the stages of a running answer anew
	steering sync.Mutex                                   // held while Params are read or changed
}

// Reading says how the answers of a request are read.
type Reading struct {
	Overflow scheduler.OverflowPolicy // what becomes of an answer that is read too slowly
	Parts    bool                     // they are taken apart: Submitted.Read reads them
}

// ReadOverflow reads what becomes of an answer that is read too slowly: park, which "" is, drop or
// cancel.
func ReadOverflow(word string) (scheduler.OverflowPolicy, error) {
	switch word {
	case "", "park":
		return scheduler.Park, nil
	case "drop":
		return scheduler.DropOldest, nil
	case "cancel":
		return scheduler.CancelSlow, nil
	}
	return scheduler.Park, refusal.Invalid("overflow", "overflow is %q; it must be park, drop or cancel", excerpt.Of(word, 40))
}

// Submit has the answers of a request computed, all of them or none. There must be room for all
// before a picture or a sound is encoded and any sampler chain is built, with a grammar perhaps.
// It is called once: the memory of pictures and sounds is freed.
func (s *Service) Submit(ctx context.Context, asked *Prompted, reading Reading) (*Submitted, error) {
	defer asked.held.arrived()
	copied := *asked
	p := &copied
	p.Prompts, p.Media.told = slices.Clone(p.Prompts), slices.Clone(p.Media.told)
	if err := cmp.Or(p.checkCall(), p.checkStates()); err != nil {
		return nil, err
	}
	for _, prompt := range p.Prompts {
		if len(prompt) >= p.Model.Context {
			return nil, refusal.TooLong(p.PromptField, len(prompt), p.Model.Context)
		}
		p.setRoom(prompt)
	}
	branches := p.Plugins.Branches()
	if err := p.checkProgram(branches); err != nil {
		return nil, err
	}
	r := &Submitted{Prompted: p, stops: slices.Concat(p.Stops, p.Rendered.Stops)}
	streams, err := p.Model.Scheduler.SubmitBuilt(p.Caller.ID, len(p.Prompts)*(p.PerPrompt+max(0, branches-1)), func() ([]scheduler.Request, error) {
		if err := p.encodeMedia(ctx); err != nil {
			return nil, err
		}
		return s.build(ctx, r, reading)
	})
	op := operation.From(ctx)
	if err != nil {
		op.Charge(p.Media.begun) // else the prompts count once they have ended
	}
	switch {
	case errors.Is(err, scheduler.ErrTooMany):
		field := p.PromptField
		if p.PerPrompt > 1 {
			field = "n"
		}
		return nil, refusal.Invalid(field, "%v; ask for fewer, or in several requests", err)
	case errors.Is(err, refusal.ErrGone):
		return nil, err
	case err != nil:
		return nil, AsError(err, p.PromptField)
	}
	op.Submitted(p.Model.Name, len(streams))
	op.Relaxed(r.Relaxed)
	for i, stream := range streams {
		r.Choices = append(r.Choices, &Choice{Index: i, Request: r, Stream: stream})
	}
	if err := r.stateRequest(ctx); err != nil {
		r.Cancel()
		return nil, AsError(err, "receipt")
	}
	if reading.Parts {
		if err := r.takeApart(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// takeApart has the choices taken apart if they may have parts, or cancels them.
func (r *Submitted) takeApart() (err error) {
	if !r.Rendered.HasParts && r.held.receipt == nil { // which tells of the content, too
		return nil
	}
	for _, c := range r.Choices {
		if c.parts, err = r.Rendered.NewSplitter(); err != nil {
			r.Cancel()
			return err
		}
	}
	return nil
}

// checkCall refuses an answer that must call a tool and cannot: a template that knows tools has a
// grammar for that.
func (p *Prompted) checkCall() error {
	c, ok := p.Source.(Chat)
	if !ok || c.ToolChoice.Mode != "required" || p.Rendered.Rules != nil && p.Rendered.Rules.Calls {
		return nil
	}
	return refusal.Invalid("tool_choice", "tool_choice asks for a call, but the model's chat template knows no tools; give it another template with chat.template_file")
}

// checkProgram refuses what cannot go with a program among the plugins, which takes a number of
// slots for its branches; 0: there is no program.
func (p *Prompted) checkProgram(branches int) error {
	const writes = "a plugin of this request writes the answer itself"
	switch {
	case branches == 0:
		return nil
	case branches > p.Model.MostBranches():
		return refusal.Invalid("plugins", "%s in %d branches at once, and this server allows %d and has %d slots: configure the plugin for fewer, or the server for more (programs.branches and scheduler.slots)",
			writes, branches, p.Model.MostBranches(), p.Model.Compute.Slots)
	case p.Slot != nil:
		return refusal.Invalid("id_slot", "id_slot is %d, but %s, in slots of its own: leave id_slot out", *p.Slot, writes)
	case len(p.begun.Tokens) > 0:
		return refusal.Invalid(p.PromptField, "%s, so an answer that has begun cannot go on with it", writes)
	case p.Logits != nil:
		return refusal.Invalid("logits", "%s, so a function that changes logits would not be asked: leave it out", writes)
	case p.StateLayer != nil:
		return refusal.Invalid("state_layer", "%s, so no hidden states are told: leave state_layer out", writes)
	case p.PromptLogprobs || p.NoAnswer:
		return refusal.Invalid(p.PromptField, "%s, so nothing is told of the prompt's tokens: leave echo out, and ask for at least one token", writes)
	}
	return nil
}

// setRoom tells the samplers how many tokens an answer to a prompt has at most: with several
// prompts, to the longest.
func (p *Prompted) setRoom(prompt []scheduler.Token) {
	limits := [...]int{p.Params.Room, p.MaxTokens, p.Model.Context - len(prompt)}
	if p.Model.Defaults.ContextShift {
		limits[2] = 0
	}
	for _, n := range limits {
		if n > 0 && (p.Params.Room == 0 || n < p.Params.Room) {
			p.Params.Room = n
		}
	}
}

// build makes the scheduler's requests of all choices.
func (s *Service) build(ctx context.Context, r *Submitted, reading Reading) (requests []scheduler.Request, err error) {
	requests = make([]scheduler.Request, 0, len(r.Prompts)*r.PerPrompt)
	defer func() {
		if err != nil {
			discardRequests(requests)
		}
	}()
	params := r.Params
	constraint, err := withPermit(ctx, s.permits, r.Caller, r.times.deadline, params.Constraint.Size(), func(ctx context.Context) (sampling.Constraint, error) {
		return r.Model.Engine.Prepare(ctx, params)
	}, sampling.Constraint.Release)
	if err != nil {
		return requests, chainError(r.constraintError(err), params)
	}
	defer constraint.Release() // the answers use it by themselves
	r.Params.Constraint = constraint
	if r.tokens, err = r.stopTokens(ctx); err != nil {
		return requests, err
	}
	for _, prompt := range r.Prompts {
		if r.adapters, err = r.chooseAdapters(prompt); err != nil {
			return requests, err
		}
		first := len(requests)
		for range r.PerPrompt {
			policy, err := s.buildPolicy(ctx, r, len(requests), prompt)
			if err != nil {
				return requests, err
			}
			r.renew = policy.Renew // the same for all choices: their plugins are
			request := r.request(prompt, policy, reading)
			request.Ended, request.Context = operation.From(ctx).Ended, ctx
			if len(requests) > first && requests[first].Program != nil {
				request.Program, request.Shift = requests[first].Program, nil
			}
			requests = append(requests, request)
		}
	}
	r.Relaxed, err = r.listRelaxed()
	return requests, err
}

// usedAdapters are those that a prompt is computed with, from a position on.
type usedAdapters struct {
	set  scheduler.Adapters
	from int
}

// chooseAdapters finds what a prompt is computed with besides the model. A fork is computed with
// what the answer was.
func (p *Prompted) chooseAdapters(prompt []scheduler.Token) (used usedAdapters, err error) {
	switch {
	case p.begun.Tokens != nil:
		return p.forked, nil
	case p.Model.Adapters != nil:
		used.set, used.from, err = p.Model.Adapters.Choose(p.Adapters, prompt)
	case len(p.Adapters) > 0:
		err = refusal.Unsupported("lora", "lora is not supported by this server")
	}
	return used, err
}

// longestControl bounds the stop strings that are looked up among the control tokens, in bytes.
const longestControl = 256

// stopTokens are the control tokens that are stop strings. Answers do not have their texts, in
// which a stop string could be found.
func (r *Submitted) stopTokens(ctx context.Context) (tokens []scheduler.Token, err error) {
	for _, stop := range r.stops {
		if len(stop) > longestControl {
			continue
		}
		all, err := r.Model.Engine.Tokenize(ctx, stop, false, true)
		if err != nil {
			return nil, err
		}
		if len(all) == 1 && r.Model.Engine.Shown(all[0]) == "" && r.Model.Engine.Piece(all[0]) == stop && !slices.Contains(r.Preserved, all[0]) {
			tokens = append(tokens, all[0])
		}
	}
	return tokens, nil
}

// choiceParams are the sampling parameters of a choice, which index counts among those of all
// prompts. The choices of one prompt differ.
func (r *Submitted) choiceParams(index int) sampling.Params {
	params := r.Params.ForChoice(uint32(index % r.PerPrompt))
	params.Trace = params.Trace || r.Candidates > 0
	return params
}

// buildPolicy builds what decides the answer of one choice: its sampler chain, and what may end it.
// Each choice takes a permit by itself, so that others wait for one plugin's setup at most,
// and not for those of 128 choices.
func (s *Service) buildPolicy(ctx context.Context, r *Submitted, index int, prompt []scheduler.Token) (serving.Policy, error) {
	params := r.choiceParams(index)
	p, err := withPermit(ctx, s.permits, r.Caller, r.times.deadline, 0, func(context.Context) (serving.Policy, error) {
		changed := func(ctx context.Context, text []byte) (sampling.Params, error) {
			return r.chainParams(ctx, params, text)
		}
		return r.Plugins.NewPolicy(params, serving.AnswerInfo{MaxTokens: r.MaxTokens, Stops: r.stops, Time: r.times.came, Choice: index % r.PerPrompt, Choices: r.PerPrompt,
			Parts: r.Rendered.NewPartTeller, Media: r.tellMedia(index / r.PerPrompt), Chain: changed, Prompt: r.promptOf})
	}, discardPolicy)
	if err != nil {
		return serving.Policy{}, chainError(r.constraintError(err), params)
	}
	if r.Logits != nil {
		p = putFirst(&logits{change: r.Logits}, p)
	}
	if r.StateLayer != nil {
		p = putFirst(&states{layer: int32(*r.StateLayer)}, p)
	}
	if recording := r.held.recording; recording != nil {
		p = recording.Watch(serving.RecordedChoice{Index: index, Seed: params.Seed, Prompt: len(prompt), Begun: len(r.begun.Tokens)}, p)
	}
	if r.Lines != (LineRule{}) {
		p.Rules = append(p.Rules, &lines{LineRule: r.Lines})
	}
	if r.watchesContent() {
		p.Rules = append(p.Rules, newContentStops(r.Rendered, r.Stops))
	}
	return p, nil
}

// watchesContent reports whether the client's stop strings end an answer in its content alone,
// since it has other parts.
func (r *Submitted) watchesContent() bool {
	return r.Rendered.HasParts && len(r.Stops) > 0 && len(r.begun.Tokens) == 0
}

// request is what the scheduler is asked for one choice.
func (r *Submitted) request(prompt []scheduler.Token, policy serving.Policy, reading Reading) scheduler.Request {
	trace, stops := 0, r.stops
	if r.Params.Trace || r.Candidates > 0 {
		trace = max(MaxTraced, r.Candidates)
	}
	if r.watchesContent() {
		stops = r.Rendered.Stops
	}
	request := scheduler.Request{
		Prompt:       []scheduler.Segment{{Tokens: prompt}},
		Pieces:       r.Media.pieces,
		Begun:        r.begun,
		Chain:        policy.Stages,
		Program:      policy.Program,
		Ending:       scheduler.Ending{MaxTokens: r.MaxTokens, Stop: stops, StopTokens: r.tokens, IgnoreEOG: r.Params.IgnoreEOS, Preserved: r.Preserved, Rules: policy.Rules, Filters: policy.Filters},
		Adapters:     r.adapters.set,
		AdaptersFrom: r.adapters.from,
		Reports:      scheduler.Reports{Logprobs: r.Logprobs, Trace: trace, PromptLogprobs: r.PromptLogprobs, NoAnswer: r.NoAnswer, Progress: r.Progress},
		Delivery:     scheduler.Delivery{Overflow: reading.Overflow},
		Service:      scheduler.Service{Priority: r.Common.Priority, Deadline: r.times.deadline, Slot: r.Slot},
		Caching:      scheduler.Caching{CachePrompt: r.Common.CachePrompt, CacheSalt: r.Caller.CacheSalt},
	}
	r.Common.Guessing.tell(&request)
	if r.Logprobs == chain.AllTokens {
		request.Buffer = mostRows
	}
	switch {
	case policy.Program != nil: // whose branches end where the context is full
		policy.Program.Tokens = r.Model.Programs.Tokens
	case r.Model.Defaults.ContextShift:
		shift := r.Shift()
		if r.Model.Vocabulary.AddBOS && shift.Keep >= 0 {
			shift.Keep++ // as llama-server counts
		}
		request.Shift = &shift
	}
	return request
}

// listRelaxed says what of the schemas is not enforced. They are known to the engine already.
func (r *Submitted) listRelaxed() (places []string, err error) {
	all, err := r.Model.Engine.Relaxed(r.Params.Constraint)
	for _, part := range all {
		place := part.Pointer
		if part.More > 0 {
			places = append(places, part.Why)
			continue
		}
		if strings.HasPrefix(place, "#") { // it does not name its field
			place = cmp.Or(r.Format.constraintField(), "json_schema") + place
		}
		places = append(places, place+": "+part.Why)
	}
	return places, err
}

// MaxTraced is how many candidates a trace shows at each point.
const MaxTraced = 10

// discardRequests closes the policies of requests that are not submitted.
func discardRequests(requests []scheduler.Request) {
	for _, r := range requests {
		discardPolicy(serving.Policy{Stages: r.Chain, Rules: r.Rules})
	}
}

// constraintField is the field of the body that the constraint came from, for errors; "": that of
// its name.
func (f Format) constraintField() string { return f.Field + f.In }

// constraintError has the refusal of a constraint name the field that it came from.
func (p *Prompted) constraintError(err error) error {
	field := p.Format.constraintField()
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

// chainParams are the parameters of a program's sampler chain: those of a choice, changed by a JSON
// object as a request's body changes the server's. What an answer must look like, the seed and
// plugins are the request's. Nobody holds the grammar for the chains that are built later: the
// answer's own stages use it until the program has returned.
func (p *Prompted) chainParams(ctx context.Context, params sampling.Params, text []byte) (sampling.Params, error) {
	if len(text) == 0 {
		return params, nil
	}
	fields := struct {
		sampling.Plain
		LogitBias json.RawMessage `json:"logit_bias"`
	}{Plain: sampling.FieldsOf(params).Plain}
	if err := integer.UnmarshalKnown(text, &fields); err != nil {
		return params, fmt.Errorf("the parameters of a chain: %w", err)
	}
	ctx = sampling.WithSalt(ctx, p.Caller.CacheSalt)
	made, err := sampling.ParamFields{Plain: fields.Plain, LogitBias: fields.LogitBias}.Params(params, tokens{ctx, p.Model})
	if err == nil {
		made.Constraint, err = p.Model.Engine.Prepare(ctx, made) // its triggers may be others
		made.Constraint.Release()
	}
	return made, err
}

// promptOf is the prompt that the model's own template makes of messages. They may have the
// pictures and sounds of the request, as many times as a request may have any.
func (p *Prompted) promptOf(ctx context.Context, text []byte) ([]int32, error) {
	gallery := chat.NewGallery(p.Media.told)
	messages, err := gallery.Unmarshal(text)
	if err != nil {
		return nil, err
	}
	messages, places, err := gallery.Leave(messages)
	if err != nil {
		return nil, err
	}
	c := chat.Conversation{Messages: messages, Media: make([]media.Part, len(places))}
	rendered, err := p.Model.Encoder().Conversation(ctx, c)
	if err != nil || len(places) == 0 {
		return rendered.Tokens, err
	}
	if err := media.CheckMarkers("messages", rendered.Text, len(places)); err != nil {
		return nil, err
	}
	return withRows(rendered.Tokens, p.Media.rows, gallery.First(places)), nil
}

// withRows puts the tokens of pictures and sounds, by their numbers, into their places among those
// of a prompt.
func withRows(tokens []int32, rows [][]int32, numbers []int) (all []int32) {
	for _, t := range tokens {
		if t != chat.MediaPlaceholder {
			all = append(all, t)
			continue
		}
		all, numbers = append(all, rows[numbers[0]]...), numbers[1:]
	}
	return all
}

// textPermits bounds how much work on the text of requests goes on at a time: on templates, tokens
// and grammars. Callers take turns. The work ends when its caller has left, though in C and in a
// guest not at once. Long texts have permits of their own, so that short ones do not wait behind
// them.
type textPermits struct{ short, long *turns.Permits }

// shortText is up to how many bytes a text keeps nobody waiting for more than some milliseconds.
const shortText = 32 << 10

// newTextPermits has permits for a quarter of the cores each, so that half of the cores is left for
// answers.
func newTextPermits() *textPermits {
	permits := max(1, runtime.GOMAXPROCS(0)/4)
	return &textPermits{short: turns.NewPermits(permits), long: turns.NewPermits(permits)}
}

// result is what work with a permit came to.
type result[T any] struct {
	value T
	err   error
	panic any // with its stack
}

// withPermit does work on a text of size bytes for a caller. When ctx is done or the deadline has
// passed (zero: none), it returns at once. Work that has begun is told by its context, and drop,
// which may be nil, is given its value if it still comes to one. The caller may write meanwhile to
// what it asked with, so work must have copies of that.
func withPermit[T any](ctx context.Context, p *textPermits, caller Caller, deadline time.Time, size int, work func(context.Context) (T, error), drop func(T)) (T, error) {
	ctx, stop := withDeadline(ctx, deadline)
	defer stop()
	ctx = sampling.WithSalt(ctx, caller.CacheSalt)
	if ctx.Err() != nil {
		return *new(T), causeOf(ctx) // before it takes a permit that is free
	}
	permits := p.short
	if size > shortText {
		permits = p.long
	}
	give, err := permits.Take(ctx, caller.ID)
	if err != nil {
		return *new(T), causeOf(ctx)
	}
	done := make(chan result[T])
	go func() {
		r := runRecovered(ctx, work)
		give()
		select {
		case done <- r:
		case <-ctx.Done():
			if drop != nil && r.err == nil && r.panic == nil {
				drop(r.value)
			}
		}
	}()
	select {
	case r := <-done:
		if r.panic != nil {
			panic(r.panic) // on the handler's goroutine, where it is caught
		}
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), causeOf(ctx)
	}
}

// causeOf tells why a request is not worked on any more.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return refusal.ErrGone
}

func runRecovered[T any](ctx context.Context, work func(context.Context) (T, error)) (r result[T]) {
	defer func() {
		if p := recover(); p != nil {
			r.panic = fmt.Sprintf("%v, in work on a text:\n%s", p, debug.Stack())
		}
	}()
	r.value, r.err = work(ctx)
	return r
}

// Work does work on a text of size bytes with a permit for a caller, for requests that are not
// for an answer. It ends with ctx, of which the work is told.
func Work[T any](ctx context.Context, s *Service, caller Caller, size int, work func(context.Context) (T, error)) (T, error) {
	return withPermit(ctx, s.permits, caller, time.Time{}, size, work, nil)
}

// timedOut ends a request that did not come to its end within its timeout_ms. The kind is one that
// clients do not answer by trying again, as OpenAI's do with the statuses 408, 409, 429 and all
// from 500 on: the same request would take as long again.
func timedOut(message string) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindImpossible, Code: "timeout", Field: "timeout_ms", Message: message}
}

// AsError turns any error into a refusal. prompt names the field the prompt came from.
func AsError(err error, prompt string) *refusal.Error {
	var own *refusal.Error
	var badParam *sampling.Invalid
	var badMessage *chat.Invalid
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, sampling.ErrCrowded):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "grammars_busy", Retry: 1, Message: sampling.ErrCrowded.Error()}
	case errors.As(err, &badParam):
		return refusal.Invalid(badParam.Field, "%v", badParam)
	case errors.As(err, &badMessage):
		return refusal.Invalid(badMessage.Field, "%v", badMessage)
	}
	if e := pluginError(err); e != nil {
		return e
	}
	return schedulerError(err, prompt)
}

// Typed is an error of a request as the program gets it whose own request it is: the context's, or
// one of the types of package refusal; nil: there is none.
func Typed(ctx context.Context, err error, prompt string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *refusal.RequestError // allocated here, so not where a stream goes on
	if errors.As(err, &known) || errors.Is(err, refusal.ErrClosed) {
		return err
	}
	return AsError(err, prompt).Typed(err)
}

// pluginError tells what a plugin's refusal or fault means for a client.
func pluginError(err error) *refusal.Error {
	var refused interface {
		error
		Told() string
		Param() string
	}
	var fault interface {
		error
		Told() string
		Kind() string
	}
	switch {
	case errors.As(err, &refused):
		return &refusal.Error{Kind: refusal.KindInvalid, Code: refusal.PluginCode, Field: refused.Param(), Message: refused.Told(),
			Public: refused.Error()}
	case errors.As(err, &fault) && slices.Contains([]string{"busy", "budget"}, fault.Kind()):
		return &refusal.Error{Kind: refusal.KindPluginsBusy, Code: "plugins_busy", Retry: 1, Message: fault.Told(), Public: fault.Error()}
	case errors.As(err, &fault):
		return &refusal.Error{Kind: refusal.KindPluginFault, Code: "plugin_fault", Field: "plugins", Message: fault.Told(), Public: fault.Error()}
	}
	return nil
}

func schedulerError(err error, prompt string) *refusal.Error {
	var long *scheduler.PromptTooLong
	switch {
	case errors.Is(err, scheduler.ErrQueueShare):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "queue_full", Retry: 1,
			Message: "too many requests of your key or address are waiting; try again in a moment"}
	case errors.Is(err, scheduler.ErrQueueFull):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "queue_full", Retry: 1,
			Message: "too many requests of others are waiting; try again in a moment"}
	case errors.As(err, &long):
		return refusal.TooLong(prompt, long.Tokens, long.Context)
	case errors.Is(err, scheduler.ErrEmptyPrompt), errors.Is(err, scheduler.ErrBadRequest):
		return refusal.Invalid(prompt, "%v", err)
	case errors.Is(err, scheduler.ErrClosed):
		return refusal.ShuttingDown()
	case errors.Is(err, scheduler.ErrLost):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "worker_lost", Retry: 5, Message: err.Error()}
	case errors.Is(err, scheduler.ErrDeadline):
		return timedOut(err.Error())
	case errors.Is(err, chain.ErrNoToken), errors.Is(err, chain.ErrNotAllowed):
		return &refusal.Error{Kind: refusal.KindImpossible, Code: "unsatisfiable",
			Message: "the answer cannot go on with what the request demands of it: " + err.Error()}
	}
	return &refusal.Error{Kind: refusal.KindInternal, Code: "internal_error", Message: err.Error()}
}

// SPDX-License-Identifier: MIT

package completion

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// Prompted is a request whose prompts are made, for a model that is in use until it is released.
type Prompted struct {
	Asked
	Model     *serving.Model
	Params    sampling.Params
	Plugins   serving.Plugins
	Adapters  []serving.AdapterScale // none: those that count for all
	MaxTokens int                    // to generate; 0: as many as fit

	Prompts  [][]scheduler.Token
	Texts    []string    // of the prompts, where the answers begin with them
	Rendered chat.Prompt // of a Chat: what its template has made of it
	Media    Media

	Preserved []scheduler.Token // the control tokens that each answer shows

	uses   []serving.PluginUse // the plugins that the body lists, until the prompts are made
	times  times
	begun  answer.Begun // of a fork: the answer begins with these
	forked usedAdapters // of a fork: with what its prompt is computed
	held   held
}

// times are when a request came, and until when it is worked on; zero: without end.
type times struct{ came, deadline time.Time }

// held is what a request has until it is released.
type held struct {
	arrived   func() // see serving.Scheduler.Expect
	recording serving.Recording
	receipt   *draft   // nil: none is wanted
	back      []func() // give back what was taken, the last first
}

// Release gives back all that the request holds, its model at last. It is called once, when the
// answers have ended or nobody waits for them.
func (p *Prompted) Release() {
	p.held.arrived()
	p.Plugins.Release()
	p.Media.free()
	p.held.release()
}

func (h *held) release() {
	for i := len(h.back) - 1; i >= 0; i-- {
		h.back[i]()
	}
}

// LeftOut are the fields of the body that are ignored, of which the client is told.
func (p *Prompted) LeftOut() []string {
	if c, ok := p.Source.(Chat); ok {
		return c.LeftOut
	}
	return nil
}

// Shift is what leaves the context when it is full, if the model is served so that answers go on
// then.
func (p *Prompted) Shift() answer.Shift {
	s := answer.Shift{Keep: p.Model.Defaults.ShiftKeep, Discard: p.Discard}
	if p.Keep != nil {
		s.Keep = *p.Keep
	}
	return s
}

// RecordingID names the recording of the request, for its client; empty: it has none.
func (p *Prompted) RecordingID() string {
	if p.held.recording == nil {
		return ""
	}
	return p.held.recording.ID()
}

// Service carries out requests.
type Service struct {
	Models  serving.Models
	Media   *media.Loader // of the pictures and sounds of requests; nil: no model takes any
	permits *textPermits
}

// NewService makes a service.
func NewService(m serving.Models) *Service { return &Service{Models: m, permits: newTextPermits()} }

// Prompt makes the prompts of a request: it finds the model, settles how the answers are sampled
// and by which plugins, and has the conversation rendered, or the texts tokenised. The caller
// releases the request.
//
// What is slow runs where it holds nobody up: templates and tokens with a permit; scripts are
// compiled, plugins write prompts and pictures are loaded without, since they wait for others.
func (s *Service) Prompt(ctx context.Context, asked Asked) (_ *Prompted, err error) {
	if err := asked.check(); err != nil {
		return nil, err
	}
	uses, err := readUses(asked.Common.Plugins, asked.Caller)
	if err != nil {
		return nil, err
	}
	if uses, err = asked.Common.add(uses); err != nil {
		return nil, err
	}
	p := &Prompted{Asked: asked, uses: uses, Plugins: noPlugins{}, Media: Media{let: func() {}}, times: times{came: time.Now()}, held: held{arrived: func() {}}}
	p.times.deadline = asked.Common.deadline(p.times.came)
	whole := false
	defer func() {
		if !whole { // nor after a panic: the work may go on for a moment, and a model can be closed under it
			p.Release()
		}
	}()
	if err := s.openModel(ctx, p); err != nil {
		return nil, err
	}
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	p.held.arrived = p.Model.Scheduler.Expect()
	made := *p // who waits may have left, and gives up what was asked
	settled, err := withPermit(ctx, s.permits, p.Caller, p.times.deadline, p.Size, func(ctx context.Context) (*Prompted, error) {
		return &made, made.settleFields(ctx)
	}, func(made *Prompted) { made.Plugins.Release() })
	if err != nil {
		return nil, err
	}
	p = settled
	if c, byPlugins := p.byPlugins(); byPlugins {
		rendered, err := s.promptByPlugins(ctx, p, c)
		if err != nil {
			return nil, err
		}
		p = rendered
	}
	if err := s.loadMedia(ctx, p); err != nil {
		return nil, err
	}
	p.forgetSource()
	whole = true
	return p, nil
}

// forgetSource drops what the prompts were made of. Pictures as the client sent them would
// otherwise take their memory as long as the answer does.
func (p *Prompted) forgetSource() {
	if c, ok := p.Source.(Chat); ok {
		p.Source = Chat{Conversation: chat.Conversation{LeftOut: c.LeftOut, ToolChoice: c.ToolChoice}}
	} else {
		p.Source = Texts{}
	}
	p.Common.Plugins, p.Common.Lora, p.Common.readyFields, p.uses = nil, nil, readyFields{}, nil
}

// openModel finds the model, which may have to be loaded, and begins a recording and a receipt
// where they are asked for.
func (s *Service) openModel(ctx context.Context, p *Prompted) error {
	name := p.ModelName
	if p.Source.hasPictures() {
		name = s.Models.Seeing(name)
	}
	if !p.times.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, p.times.deadline, timedOut("the model was not loaded within timeout_ms"))
		defer cancel()
	}
	m, release, err := s.Models.Use(ctx, name)
	if err != nil {
		return err
	}
	p.Model, p.held.back = m, []func(){release}
	if m.EmbedsOnly {
		return refusal.Unsupported("model", "the model %s makes embeddings and generates no text; name another", m.Name)
	}
	if err := p.beginRecording(); err != nil {
		return err
	}
	return p.beginReceipt(ctx)
}

// plan has the request's scripts compiled and its modules warmed for the model, which waits for
// other guests, and with the first script until the plugin that runs them is loaded.
func (p *Prompted) plan(ctx context.Context) error {
	if p.Model.Plugins == nil {
		return nil
	}
	ctx, stop := withDeadline(ctx, p.times.deadline)
	defer stop()
	for _, u := range p.uses {
		if !u.Brought() {
			continue
		}
		if _, err := p.Model.Plugins.Plan(ctx, p.Caller.ID, u); err != nil {
			if ctx.Err() != nil {
				return causeOf(ctx)
			}
			return err
		}
	}
	return nil
}

// beginRecording begins a recording if the request asks for one.
func (p *Prompted) beginRecording() error {
	if !p.Common.Record {
		return nil
	}
	if p.Model.Recorder == nil {
		return &refusal.Error{Kind: refusal.KindForbidden, Code: "recordings_disabled", Field: "record",
			Message: "record is true, but this server records no requests; its operator can set recordings.enabled, and recordings.dir where there is no home folder"}
	}
	p.held.recording = p.Model.Recorder.Begin(p.Caller.ID)
	p.held.back = append(p.held.back, p.held.recording.Release)
	return nil
}

// settleFields reads what all dialects share, and makes the prompts unless plugins do.
func (p *Prompted) settleFields(ctx context.Context) (err error) {
	if err := p.settleSampling(ctx); err != nil {
		return err
	}
	settled := false
	defer func() {
		if !settled { // nor after a panic does anybody use them
			p.Plugins.Release()
		}
	}()
	if err := cmp.Or(p.settleAnswers(), p.checkFiltered()); err != nil {
		return err
	}
	if err := p.Source.write(ctx, p); err != nil {
		return err
	}
	if _, byPlugins := p.byPlugins(); !byPlugins { // else it is written later
		if err := p.findPreserved(ctx); err != nil {
			return err
		}
	}
	settled = true
	return nil
}

// byPlugins returns the conversation whose prompt plugins write, and whether they write this one.
func (p *Prompted) byPlugins() (c Chat, ok bool) {
	c, ok = p.Source.(Chat)
	return c, ok && p.Plugins.Renders()
}

// findPreserved finds the control tokens that each answer shows: those of the client and of the
// template. It runs with a permit, as the client may name many, in long texts. A text that the
// model refuses is refused here, before anything is encoded.
func (p *Prompted) findPreserved(ctx context.Context) (err error) {
	p.Preserved = nil // a fork has those of its answer
	if len(p.Params.PreservedTokens) > 0 {
		p.Preserved, err = p.Model.Engine.PreservedTokens(ctx, p.Params)
	}
	return err
}

// settleSampling reads the sampling parameters, the plugins and the adapters.
func (p *Prompted) settleSampling(ctx context.Context) (err error) {
	base := p.Model.Defaults.Sampling.Params()
	base.Trace = p.Common.Trace
	if t := p.Model.Defaults.Thinking; t != nil {
		base.Thinking = *t
	}
	base.Schemas = p.Model.Defaults.Schemas
	if p.Params, err = p.Common.Params(base, tokens{ctx, p.Model}); err != nil {
		return err
	}
	if p.Adapters, err = ReadAdapterScales(p.Common.Lora, "lora"); err != nil {
		return err
	}
	p.Plugins, err = pluginsOf(ctx, p.Model, p.Caller.asker(), p.uses, p.Params.Chain)
	return err
}

// tokens shows a model's tokens to package sampling.
type tokens struct {
	ctx context.Context
	*serving.Model
}

func (t tokens) Size() int { return t.Vocabulary.Size }
func (t tokens) Tokenize(text string) ([]int32, error) {
	tokens, err := t.Encoder().Plain(t.ctx, text)
	return tokens, TextError(err, "logit_bias")
}

// settleAnswers refuses what this model cannot do, and fills in what the model says where the
// client does not.
func (p *Prompted) settleAnswers() error {
	if field := p.OnePerSlot; field != "" && (p.PerPrompt < 1 || p.PerPrompt > p.Model.Compute.Slots) {
		return refusal.Invalid(field, "%s is %d; it must be from 1 to %d, the number of slots", field, p.PerPrompt, p.Model.Compute.Slots)
	}
	if n := p.Slot; n != nil && (*n < 0 || *n >= p.Model.Compute.Slots) {
		return refusal.Invalid("id_slot", "id_slot is %d; it must be from 0 to %d, or -1 for any", *n, p.Model.Compute.Slots-1)
	}
	if p.Thinking != "" && !p.Model.Template.Thinks {
		return refusal.Unsupported("think", "think is %s; the model %q does not think: its chat template has no place for that", p.Thinking, p.Model.Name)
	}
	if p.MaxTokens = p.Model.Defaults.MaxTokens; p.Limit != nil {
		p.MaxTokens = *p.Limit
	}
	f := p.Format
	switch {
	case f.Field == "":
		return nil
	case p.Params.Constraint.IsSet():
		return refusal.Invalid(f.Field, "%s and %s cannot be used together", f.Field, p.Params.Constraint.Field())
	case f.Strict != nil:
		p.Params.Schemas.Loose = !*f.Strict
	}
	p.Params.JSONSchema, p.Params.Grammar, p.Params.Regex = f.JSONSchema, f.Grammar, f.Regex
	return nil
}

// checkFiltered refuses fields that show what the model has written, where the operator requires
// that it is filtered.
func (p *Prompted) checkFiltered() error {
	by := p.Plugins.Filtering()
	if by == "" {
		return nil
	}
	for _, asked := range []struct {
		field string
		is    bool
	}{{cmp.Or(p.LogprobsField, "logprobs"), p.Logprobs >= 0}, {"return_tokens", p.ReturnTokens}, {"trace", p.Common.Trace}, {"record", p.Common.Record}} {
		if asked.is {
			return refusal.Invalid(asked.field, "%s shows the answer as it was before plugin %q, which this server requires here, filtered it: leave %[1]s out", asked.field, by)
		}
	}
	return nil
}

// ShowsTokens reports whether the client may be told which tokens the answer has: not where the
// operator requires that its text is filtered.
func (p *Prompted) ShowsTokens() bool { return p.Plugins.Filtering() == "" }

// Chat is a conversation, which the model's template or a plugin makes the prompt. A template may
// have words around what its answer must look like, so that is then what the template makes of it.
type Chat struct {
	chat.Conversation
	Follows []scheduler.Token // what an earlier answer was given and gave: it stands before the prompt
}

func (c Chat) hasPictures() bool { return media.HasPictures(c.Media) }

// write makes the conversation the prompt, unless plugins do.
func (c Chat) write(ctx context.Context, p *Prompted) error {
	for i, t := range c.Follows {
		if t < 0 || int(t) >= p.Model.Vocabulary.Size {
			at := fmt.Sprintf("context[%d]", i)
			return refusal.Invalid(at, "%s is %d; it must be a token from 0 to %d", at, t, p.Model.Vocabulary.Size-1)
		}
	}
	if len(c.Follows) > 0 {
		if err := p.Plugins.RefuseTemplates("context", false); err != nil {
			return err
		}
	}
	c.Conversation = c.WithoutEmptyEnd()
	p.Source, p.Media.parts = c, c.Media
	if err := p.Model.Media.Check(c.Media, p.Model.Name); err != nil || p.Plugins.Renders() {
		return err
	}
	return p.render(ctx, c)
}

// render makes a conversation the prompt: by the model's template, or of the text that a plugin has
// written.
func (p *Prompted) render(ctx context.Context, c Chat) (err error) {
	p.tellFormat(&c.Conversation)
	if p.Rendered, err = p.Model.Encoder().Conversation(ctx, c.Conversation); err != nil {
		return p.constraintError(TextError(err, p.PromptField))
	}
	if n := len(c.Media); n > 0 {
		if err := media.CheckMarkers(p.PromptField, p.Rendered.Text, n); err != nil {
			return err
		}
	}
	p.takeFormat()
	p.Prompts = [][]scheduler.Token{p.Rendered.Tokens}
	if len(c.Follows) > 0 {
		more, err := p.Model.Encoder().Continuation(ctx, p.Rendered.Text)
		if err != nil {
			return TextError(err, p.PromptField)
		}
		p.Prompts[0] = append(c.Follows, more...)
	}
	return nil
}

// tellFormat tells a conversation what its answer must look like. A grammar that a client wakes, or
// that knows the prompt's end, begins where it says.
func (p *Prompted) tellFormat(c *chat.Conversation) {
	c.Format = chat.Format{JSONSchema: string(p.Params.JSONSchema), Schemas: p.Params.Schemas, Grammar: p.Params.Grammar, Regex: p.Params.Regex,
		OwnBegin: p.Params.GrammarLazy || p.Params.GrammarOfFormat}
}

// takeFormat has the answer obey what the template knows of its format.
func (p *Prompted) takeFormat() {
	r, params := &p.Rendered, &p.Params
	if r.Rules != nil {
		params.Constraint = sampling.Constraint{Format: r.Rules, GrammarLazy: r.Lazy}
		for _, t := range r.Triggers {
			params.GrammarTriggers = append(params.GrammarTriggers, sampling.Trigger{Kind: triggerKinds[t.Kind], Value: t.Value, Token: t.Token})
		}
	}
	if r.Rules != nil || len(params.JSONSchema) == 0 { // a schema that the template has left alone is for the answer, not for the prompt's end
		params.GenerationPrompt = r.GenerationPrompt
	}
	params.PreservedTokens = append(params.PreservedTokens, r.Preserved...)
	if len(r.ThinkingEnds) > 0 {
		params.Thinking.StartTag, params.Thinking.EndTags = r.ThinkingStart, r.ThinkingEnds
	}
}

var triggerKinds = map[string]sampling.TriggerKind{
	"token": sampling.TriggerToken, "word": sampling.TriggerWord, "pattern": sampling.TriggerPattern, "pattern_full": sampling.TriggerPatternFull,
}

// promptByPlugins has plugins rewrite the messages of a conversation, or write its prompt, and
// makes the prompt of that. A plugin waits for its turn among the guests, so it does not run with
// a permit for texts, which it would keep from others. It is told of pictures and sounds, so these
// are read first.
func (s *Service) promptByPlugins(ctx context.Context, p *Prompted, c Chat) (*Prompted, error) {
	if err := s.readMedia(ctx, p); err != nil {
		return nil, err
	}
	if err := p.rewrite(ctx, &c.Conversation); err != nil {
		return nil, err
	}
	size := p.Size
	if w := c.Written; w != nil {
		size = max(size, len(*w))
	}
	made := *p // who waits may have left, and gives up what was asked
	return withPermit(ctx, s.permits, p.Caller, p.times.deadline, size, func(ctx context.Context) (*Prompted, error) {
		if err := made.render(ctx, c); err != nil {
			return nil, err
		}
		return &made, made.findPreserved(ctx)
	}, nil)
}

// rewrite has plugins rewrite the messages of a conversation, and write its prompt. The request has
// the pictures and sounds then that they have left in it.
func (p *Prompted) rewrite(ctx context.Context, c *chat.Conversation) (err error) {
	ctx, cancel := withDeadline(ctx, p.times.deadline)
	defer cancel()
	if p.held.recording != nil {
		ctx = p.held.recording.Rendering(ctx)
	}
	gallery := chat.NewGallery(p.Media.told)
	messages, err := gallery.Enter(c.Messages)
	if err != nil {
		return TextError(err, p.PromptField)
	}
	told := serving.Conversing{Params: p.Params, Time: p.times.came, Media: gallery, Text: p.textOf(c, gallery)}
	messages, err = p.Plugins.Rewrite(ctx, told, messages)
	if err == nil {
		c.Written, err = p.Plugins.Render(ctx, told, messages)
	}
	if err != nil && ctx.Err() != nil {
		return causeOf(ctx)
	}
	if err != nil {
		return err
	}
	return p.leaveGallery(c, gallery, messages)
}

// textOf makes the prompt's text of other messages in the place of a conversation's, in both of
// which pictures and sounds have the markers of a gallery.
func (p *Prompted) textOf(c *chat.Conversation, g *chat.Gallery) func(context.Context, []chat.Message) (string, error) {
	return func(ctx context.Context, messages []chat.Message) (string, error) {
		other := *c
		other.Written = nil
		p.tellFormat(&other)
		var places []int
		var err error
		if other.Messages, places, err = g.Leave(messages); err != nil {
			return "", err
		}
		rendered, err := p.Model.Encoder().Render(ctx, other)
		if err != nil {
			return "", err
		}
		return g.Restore(rendered.Text, places)
	}
}

// leaveGallery has the conversation be what plugins have made of it.
func (p *Prompted) leaveGallery(c *chat.Conversation, g *chat.Gallery, messages []chat.Message) error {
	var places []int
	var err error
	if c.Messages, places, err = g.Leave(messages); err != nil {
		return err
	}
	if c.Written != nil {
		var text string
		if text, places, err = g.Text(*c.Written); err != nil {
			return err
		}
		c.Written = &text
	}
	if len(places) > media.MaxParts {
		return refusal.Invalid("plugins", "the prompt that the plugins have made has places for %d pictures and sounds; a request may have %d", len(places), media.MaxParts)
	}
	p.Media.choose(g.First(places))
	c.Media = make([]media.Part, len(places))
	return nil
}

// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/chat/form"
	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/template"
	"github.com/penstock/penstock/native"
)

var _ chat.Renderer = (*Engine)(nil)

// TemplateOptions say how conversations become prompts, unless a conversation says otherwise. The
// zero value is llama-server's default.
type TemplateOptions struct {
	Source          string                     // Jinja, or the name of a template that llama.cpp has code for; "": the model's own
	Args            map[string]json.RawMessage // for the template
	ReasoningFormat string                     // as in a chat.Conversation; "": deepseek
	NoThinking      bool                       // though the template may do it
	NoPrefill       bool                       // a last message of the assistant is a turn that has ended
}

// withDefaults is as llama-server has it: a template that can show all reasoning of a conversation
// does, unless told otherwise.
func (o TemplateOptions) withDefaults() TemplateOptions {
	o.ReasoningFormat = cmp.Or(o.ReasoningFormat, "deepseek")
	args := map[string]json.RawMessage{"preserve_reasoning": json.RawMessage("true")}
	maps.Copy(args, o.Args)
	o.Args = args
	return o
}

// Render implements chat.Renderer.
func (e *Engine) Render(ctx context.Context, c chat.Conversation) (chat.Prompt, error) {
	n, err := e.conversation(ctx, &c)
	if err != nil {
		return chat.Prompt{}, err
	}
	p, rules, err := e.rendered(ctx, &c, n)
	if err != nil && ctx.Err() == nil {
		err = e.asField(ctx, err, &c)
	}
	if err != nil {
		return chat.Prompt{}, err
	}
	if last := len(c.Messages) - 1; n.Continue != "" && last >= 0 {
		keepOwnReasoning(&p, c.Messages[last])
	}
	prompt := chat.Prompt{
		Text: p.Text, Stops: p.Stops, Preserved: p.PreservedTokens, Lazy: p.GrammarLazy,
		GenerationPrompt: p.GenerationPrompt, ThinkingStart: p.ThinkingStart, ThinkingEnds: p.ThinkingEnds,
		Format: p.Format, ReasoningFormat: n.ReasoningFormat,
	}
	if rules != nil {
		g, err := e.ofFormat(ctx, rules)
		if err != nil {
			return chat.Prompt{}, refusedField(err)
		}
		g.release()
		prompt.Rules = rules
	}
	for _, t := range c.Offered() {
		if t.Custom {
			prompt.Custom = append(prompt.Custom, t.Name)
		}
	}
	for _, t := range p.Triggers {
		prompt.Triggers = append(prompt.Triggers, chat.Trigger(t))
	}
	if !p.FreeText {
		format := native.AnswerFormat{Format: p.Format, Parser: p.Parser, GenerationPrompt: p.GenerationPrompt, ReasoningFormat: n.ReasoningFormat,
			SkipPrefill: c.Continue != "" && !c.Echo}
		prompt.HasParts, prompt.NewParser = true, func() (chat.Parser, error) { return newParser(format) }
	}
	return prompt, nil
}

// conversation completes what a conversation leaves open and refuses what llama-server refuses.
func (e *Engine) conversation(ctx context.Context, c *chat.Conversation) (native.Conversation, error) {
	n := native.Conversation{
		ToolChoice: c.ToolChoice.Mode, ParallelToolCalls: e.info.TemplateCaps["supports_parallel_tool_calls"],
		JSONSchema: c.JSONSchema, Grammar: c.Grammar, AddGenerationPrompt: true, Continue: string(c.Continue), ReasoningFormat: c.ReasoningFormat,
	}
	if n.ReasoningFormat == "" {
		n.ReasoningFormat = e.templateOptions.ReasoningFormat
	}
	if c.ParallelToolCalls != nil {
		n.ParallelToolCalls = *c.ParallelToolCalls
	}
	if c.AddGenerationPrompt != nil {
		n.AddGenerationPrompt = *c.AddGenerationPrompt
	}
	if tools := c.Offered(); len(tools) > 0 {
		if e.template.Info().ByName {
			return n, &chat.Invalid{Field: "tools", Reason: "need a chat template in Jinja; this server uses the one that llama.cpp calls " + e.info.Template}
		}
		if c.OwnBegin && c.Grammar != "" && c.ToolChoice.Mode != "none" {
			return n, &chat.Invalid{Field: "grammar", Reason: "cannot be lazy together with tools, whose calls have a grammar of their own"}
		}
		n.Tools = toolsJSON(tools)
	}
	if err := e.thinking(c, &n); err != nil {
		return n, err
	}
	if err := e.goOn(c, &n); err != nil {
		return n, err
	}
	var err error
	if n.Continue != "" {
		c.Messages, err = e.joined(ctx, c.Messages, n)
	}
	return n, err
}

// thinking settles whether the model reasons before it answers, and what the template is told
// besides.
func (e *Engine) thinking(c *chat.Conversation, n *native.Conversation) error {
	if _, has := c.TemplateArgs["messages"]; has { // it would stand in the place of those that plugins have rewritten
		return &chat.Invalid{Field: "chat_template_kwargs.messages", Reason: "cannot be given: the template gets the request's own messages"}
	}
	n.TemplateArgs = maps.Clone(e.templateOptions.Args)
	maps.Copy(n.TemplateArgs, c.TemplateArgs)
	n.EnableThinking = e.info.Thinks && !e.templateOptions.NoThinking
	switch arg := string(n.TemplateArgs["enable_thinking"]); {
	case arg == "true" || arg == "false":
		n.EnableThinking = arg == "true"
	case strings.HasPrefix(arg, `"`):
		return &chat.Invalid{Field: "chat_template_kwargs.enable_thinking", Reason: "must be true or false, without quotation marks"}
	}
	if c.EnableThinking != nil {
		n.EnableThinking = *c.EnableThinking
		n.TemplateArgs["enable_thinking"], _ = json.Marshal(n.EnableThinking)
	}
	switch c.ReasoningEffort {
	case "":
	case "none":
		n.EnableThinking = false
		delete(n.TemplateArgs, "reasoning_effort")
	default:
		n.TemplateArgs["reasoning_effort"], _ = json.Marshal(c.ReasoningEffort)
	}
	return nil
}

// asField names the field of the request that cannot be rendered.
func (e *Engine) asField(ctx context.Context, err error, c *chat.Conversation) error {
	var bad *native.BadField
	if errors.As(err, &bad) {
		field := bad.Field
		if rest, ok := strings.CutPrefix(field, "template_args"); ok {
			field = "chat_template_kwargs" + rest
		}
		return &chat.Invalid{Field: field, Reason: "cannot be used: " + strings.TrimPrefix(bad.Unwrap().Error(), native.ErrInvalid.Error()+": ")}
	}
	answer := sampling.Constraint{JSONSchema: json.RawMessage(c.JSONSchema), Schemas: c.Schemas}
	if !answer.IsSet() {
		return err
	}
	g, unread := e.read(ctx, answer)
	if unread != nil {
		return refusedField(unread)
	}
	g.release()
	return err
}

func toolsJSON(tools []chat.Tool) json.RawMessage {
	list := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, t.JSON...)
	}
	return append(list, ']')
}

// say renders the messages of a conversation in a form that the template can say. They are those
// that were rendered then.
func (e *Engine) say(ctx context.Context, c *chat.Conversation, n native.Conversation) (p native.Prompt, err error) {
	needs := e.needs
	if len(n.Tools) > 0 {
		needs = e.needsWithTools
	}
	needed, err := needs.form(ctx)
	if err != nil {
		return p, err
	}
	var way template.Way // found once for all forms
	p, c.Messages, err = form.Say(ctx, needed, c.Messages, renderings(c.Messages, n.Tools), func(ctx context.Context, messages []chat.Message) (native.Prompt, string, error) {
		p, err := e.renderMessagesIn(ctx, n, messages, &way)
		if e.template.Refuses(err) && !slices.ContainsFunc(messages, hasBrokenCall) {
			err = form.Refused{Err: err}
		}
		return p, p.Text, err
	})
	return p, err
}

// renderings is how often messages may be rendered to find a form that the template can say: seldom
// where one rendering takes some ten milliseconds.
func renderings(messages []chat.Message, tools json.RawMessage) int {
	const short, many, few = 64 << 10, 32, 8
	const each = 200 // bytes that take as long as a message, a part or a call does
	size := len(tools)
	for _, m := range messages {
		size += len(m.Content) + len(m.Reasoning) + each*(1+len(m.Parts)+len(m.ToolCalls))
		for _, c := range m.ToolCalls {
			size += len(c.Function.Arguments)
		}
	}
	if size > short {
		return few
	}
	return many
}

// hasBrokenCall reports whether a message has a call whose arguments are no JSON. That is the fault
// of the message, and no form mends it.
func hasBrokenCall(m chat.Message) bool {
	return slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return !json.Valid([]byte(c.Function.Arguments)) })
}

func (e *Engine) renderMessages(ctx context.Context, n native.Conversation, messages []chat.Message) (native.Prompt, error) {
	return e.renderMessagesIn(ctx, n, messages, new(template.Way))
}

func (e *Engine) renderMessagesIn(ctx context.Context, n native.Conversation, messages []chat.Message, way *template.Way) (p native.Prompt, err error) {
	if n.Messages, err = messagesJSON(messages); err != nil {
		return p, err
	}
	p, err = e.template.RenderIn(ctx, n, way)
	p.Parser = peg.Mended(p.Parser)
	return p, err
}

// messagesJSON writes messages for the template, which sees the parts of a content that came as a
// list.
func messagesJSON(messages []chat.Message) (json.RawMessage, error) {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type inParts struct {
		chat.Message
		Content []part `json:"content"` // shadows the text
	}
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = m
		if m.Parts != nil {
			p := inParts{Message: m, Content: make([]part, len(m.Parts))}
			for j, text := range m.Parts {
				p.Content[j] = part{"text", text}
				if text == media.Marker {
					p.Content[j].Type = "media_marker" // around which llama.cpp puts no line breaks
				}
			}
			list[i] = p
		}
	}
	return json.Marshal(list)
}

// parser is a chat.Parser by llama.cpp.
type parser struct{ *native.AnswerParser }

func newParser(f native.AnswerFormat) (chat.Parser, error) {
	a, err := native.NewAnswerParser(f)
	if err != nil {
		return nil, err
	}
	return parser{a}, nil
}

// Add implements chat.Parser.
func (p parser) Add(text string, complete bool) ([]chat.Delta, error) {
	return gained(p.AnswerParser.Add(text, complete))
}

// Cut implements chat.Parser.
func (p parser) Cut() ([]chat.Delta, error) { return gained(p.AnswerParser.Cut()) }

func gained(parts []native.AnswerPart, err error) ([]chat.Delta, error) {
	if errors.Is(err, native.ErrFailed) {
		return nil, badFormat{err}
	}
	deltas := slices.Grow([]chat.Delta(nil), len(parts))
	for _, part := range parts {
		d := chat.Delta{Reasoning: part.Reasoning, Content: part.Content}
		if part.Call != nil {
			d.Call = &chat.CallDelta{Index: *part.Call, ID: part.ID, Name: part.Name, Arguments: part.Arguments}
		}
		deltas = append(deltas, d)
	}
	return deltas, err
}

// badFormat is a chat.ErrFormat in llama.cpp's own words.
type badFormat struct{ error }

func (e badFormat) Is(target error) bool { return target == chat.ErrFormat }
func (e badFormat) Unwrap() error        { return e.error }

// need is the form that the template needs. It is found when the first conversation comes, which
// takes a tenth of a second, or with a template that is made to take long until the bound. Nobody
// has to wait for it to the end.
type need struct {
	once  sync.Once
	seek  func() // finds it
	stop  context.CancelFunc
	done  chan struct{}
	found form.Form
}

func newNeed(find func(ctx context.Context) form.Form) *need {
	const most = 30 * time.Second
	n := &need{done: make(chan struct{})}
	within, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.seek = func() {
		defer close(n.done)
		ctx, cancel := context.WithTimeout(within, most)
		defer cancel()
		n.found = find(ctx)
	}
	return n
}

// form waits until the form is found. Its error is ctx's.
func (n *need) form(ctx context.Context) (form.Form, error) {
	n.once.Do(func() { go n.seek() })
	select {
	case <-n.done:
		return n.found, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// close ends the search, if it goes on, and waits for its end.
func (n *need) close() {
	n.stop()
	n.once.Do(func() { close(n.done) })
	<-n.done
}

// findNeeds has the form that the template needs be found, for conversations with tools and for
// those without: templates differ in more than the list of tools then.
func (e *Engine) findNeeds() {
	needs := func(tools json.RawMessage) *need {
		return newNeed(func(ctx context.Context) form.Form {
			return form.Needs(ctx, func(ctx context.Context, messages []chat.Message) (string, error) {
				n := native.Conversation{Tools: tools, AddGenerationPrompt: true, TemplateArgs: e.templateOptions.Args, ReasoningFormat: e.templateOptions.ReasoningFormat}
				p, err := e.renderMessages(ctx, n, messages)
				return p.Text, err
			})
		})
	}
	e.needs = needs(nil)
	e.needsWithTools = needs(json.RawMessage(`[{"type":"function","function":{"name":"x","description":"x","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}]`))
}

// goOn settles whether the answer goes on with the last message.
func (e *Engine) goOn(c *chat.Conversation, n *native.Conversation) error {
	last := len(c.Messages) - 1
	byAssistant := func(i int) bool { return i >= 0 && c.Messages[i].Role == "assistant" }
	if n.Continue == "" && !c.Fresh && !e.templateOptions.NoPrefill && byAssistant(last) {
		n.Continue, n.AddGenerationPrompt = native.ContinueAuto, false
	}
	switch {
	case n.Continue == "":
		return nil
	case n.AddGenerationPrompt:
		return &chat.Invalid{Field: "continue_final_message", Reason: "cannot be true unless add_generation_prompt is false"}
	case byAssistant(last) && len(c.Messages[last].ToolCalls) > 0:
		return &chat.Invalid{Field: "continue_final_message", Reason: "is for a message without tool calls"}
	}
	return nil
}

// joined are the messages of a conversation whose answer goes on with the last one, which has its
// parts as one text. A template never sees that message, and llama.cpp puts an empty line between
// its parts whatever a template writes there.
func (e *Engine) joined(ctx context.Context, messages []chat.Message, n native.Conversation) ([]chat.Message, error) {
	last := len(messages) - 1
	if last < 0 || messages[last].Parts == nil {
		return messages, nil
	}
	m := messages[last]
	parts, joint := m.Parts, ""
	for len(parts) > 0 && parts[0] == "" { // nothing stands before what they would be joined to
		parts = parts[1:]
	}
	if len(parts) > 1 {
		var err error
		if joint, err = e.joint(ctx, n); err != nil {
			return nil, err
		}
	}
	m.Content, m.Parts = strings.Join(parts, joint), nil
	return append(slices.Clip(messages[:last]), m), nil
}

// joint is what the template writes between the parts of a message that was said before.
func (e *Engine) joint(ctx context.Context, n native.Conversation) (string, error) {
	const first, second, usual = "the-first-part", "the-second-part", "\n"
	n.Continue, n.ToolChoice, n.JSONSchema, n.Grammar = "", "", "", ""
	p, err := e.renderMessages(ctx, n, []chat.Message{
		{Role: "user", Content: "x"}, {Role: "assistant", Content: first + usual + second, Parts: []string{first, second}}, {Role: "user", Content: "x"},
	})
	if ctx.Err() != nil {
		return "", err
	}
	_, behind, found := strings.Cut(p.Text, first) // of a template that takes no such conversation there is no text
	if joint, _, ok := strings.Cut(behind, second); found && ok {
		return joint, nil
	}
	return usual, nil
}

// keepOwnReasoning leaves a prompt that goes on with a message as that message begins, if it
// begins with reasoning: llama.cpp puts an empty block of reasoning before the content of each
// message that has its reasoning nowhere else.
func keepOwnReasoning(p *native.Prompt, last chat.Message) {
	tag := p.ThinkingStart
	if tag == "" || last.Reasoning != "" || !strings.HasPrefix(strings.TrimSpace(last.Content), tag) {
		return
	}
	before, ok := strings.CutSuffix(p.GenerationPrompt, last.Content)
	start, isEnd := strings.CutSuffix(p.Text, p.GenerationPrompt)
	if !ok || !isEnd {
		return
	}
	if at := strings.LastIndex(before, tag); at >= 0 {
		before = before[:at]
	} else {
		for _, end := range p.ThinkingEnds { // some templates begin no block, and end it
			before = strings.TrimSuffix(before, end)
		}
	}
	p.GenerationPrompt = before + last.Content
	p.Text = start + p.GenerationPrompt
}

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
		if _, err := e.ofFormat(ctx, rules); err != nil {
			return chat.Prompt{}, refusedField(err)
		}
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
	if _, bad := e.read(ctx, answer); bad != nil {
		return refusedField(bad)
	}
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

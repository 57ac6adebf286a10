// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
)

// answerField is the field of an answer's schema.
const answerField = "json_schema"

// rendered is the prompt of a conversation, and what the answer to it must look like; nil: the
// template leaves that open.
func (e *Engine) rendered(ctx context.Context, c *chat.Conversation, n native.Conversation) (native.Prompt, *peg.Format, error) {
	answer := answerOf(c)
	calls := len(n.Tools) > 0 && c.ToolChoice.Mode != "none"
	beside := calls && answer.Size() > 0
	if beside {
		n.JSONSchema, n.Grammar = "", "" // else llama.cpp forbids each call
	}
	p, err := e.say(ctx, c, n)
	if err != nil || e.template.Info().ByName {
		return p, nil, err
	}
	must := c.ToolChoice.Mode == "required"
	if beside && !must {
		f, err := e.besideCalls(ctx, c, n, &p)
		if f != nil && n.Continue != "" && c.JSONSchema == "" { // it would begin before what the answer has
			err = &chat.Invalid{Field: answer.Field, Reason: "cannot be used beside tools where the answer goes on with the last message"}
		}
		if f != nil || err != nil {
			return p, e.completed(f, c, answer, n), err
		}
		n.JSONSchema = c.JSONSchema // the template knows no calls
		if p, err = e.renderMessages(ctx, n, c.Messages); err != nil {
			return p, nil, err
		}
	}
	switch {
	case p.Grammar == native.GrammarOfParser && (c.Grammar == "" || beside):
		f := &peg.Format{Parser: p.Parser, Lazy: p.GrammarLazy, Calls: calls && must}
		if f.Calls {
			if f.Parser, err = e.parts(ctx, c, n, p); err != nil {
				return p, nil, err
			}
			answer = peg.Answer{} // nothing is left to say of it
		}
		return p, e.completed(f, c, answer, n), nil
	case c.Grammar == "" && c.Regex == "" || p.FreeText || c.OwnBegin || n.Continue != "":
		return p, nil, nil
	}
	if !opensReasoning(p) {
		if takes, err := e.takesMarks(ctx, sampling.Constraint{Grammar: c.Grammar, Regex: c.Regex}, p); takes || err != nil {
			return p, nil, err
		}
	}
	f := &peg.Format{Answer: answer}
	f.Texts, err = e.parts(ctx, c, n, p)
	return p, f, err
}

// takesMarks reports whether a grammar says itself where the parts of an answer are: a text of it
// may begin with one of the template's marks.
func (e *Engine) takesMarks(ctx context.Context, c sampling.Constraint, p native.Prompt) (bool, error) {
	g, err := e.read(ctx, c)
	if err != nil {
		return false, refusedField(err)
	}
	defer g.release()
	for _, mark := range append([]string{p.ThinkingStart}, p.PreservedTokens...) {
		if mark == "" {
			continue
		}
		if _, fits, err := g.is.Advance(g.is.Start(), []byte(mark)); fits || err != nil {
			return true, nil //nolint:nilerr // what takes too long to tell is as the client wrote it
		}
	}
	return false, nil
}

// besideCalls is the format of answers that are calls or texts of a format; nil: the template
// knows no calls. p is the prompt of such a conversation.
func (e *Engine) besideCalls(ctx context.Context, c *chat.Conversation, n native.Conversation, p *native.Prompt) (*peg.Format, error) {
	required := n
	required.ToolChoice = "required"
	q, err := e.renderMessages(ctx, required, c.Messages)
	if err != nil || q.Grammar != native.GrammarOfParser {
		return nil, err
	}
	f := &peg.Format{Calls: true}
	if f.Parser, err = e.parts(ctx, c, required, q); err != nil {
		return nil, err
	}
	if f.Texts, err = e.parts(ctx, c, n, *p); err != nil {
		return nil, err
	}
	if c.JSONSchema != "" && n.ReasoningFormat != "none" { // else the client would be shown the fence behind the reasoning
		f.Fenced = e.takesFence(ctx, n)
	}
	p.GrammarLazy, p.Triggers = false, nil
	return f, nil
}

// fenceKind is what of a conversation decides how llama.cpp reads its answer in JSON.
type fenceKind struct {
	thinks, begins  bool
	reasoningFormat string
}

// takesFence reports whether an answer in JSON may stand in a fence: where llama.cpp's parser of
// such answers, without tools, has one. The template is asked once for each kind.
func (e *Engine) takesFence(ctx context.Context, n native.Conversation) bool {
	kind := fenceKind{n.EnableThinking, n.AddGenerationPrompt, n.ReasoningFormat}
	if found, known := e.fences.Load(kind); known {
		return found.(bool) //nolint:forcetypeassert // stored below
	}
	p, err := e.renderMessages(ctx, native.Conversation{
		JSONSchema: `{"type":"object"}`, TemplateArgs: e.templateOptions.Args, // not the client's
		EnableThinking: kind.thinks, AddGenerationPrompt: kind.begins, ReasoningFormat: kind.reasoningFormat,
	}, []chat.Message{{Role: "user", Content: "Hi"}})
	if err != nil {
		return false
	}
	found := strings.Contains(p.Parser, peg.Fence)
	e.fences.Store(kind, found)
	return found
}

// parts is llama.cpp's parser of the answers to a prompt that tells reasoning from content, also
// where the client is to be shown both as one.
func (e *Engine) parts(ctx context.Context, c *chat.Conversation, n native.Conversation, p native.Prompt) (string, error) {
	if n.ReasoningFormat != "none" {
		return p.Parser, nil
	}
	n.ReasoningFormat = "deepseek"
	p, err := e.renderMessages(ctx, n, c.Messages)
	return p.Parser, err
}

// completed adds the tools and the answer's format to one that is known.
func (e *Engine) completed(f *peg.Format, c *chat.Conversation, answer peg.Answer, n native.Conversation) *peg.Format {
	if f == nil {
		return nil
	}
	f.Answer = answer
	for _, t := range c.Offered() {
		f.OneCall = !n.ParallelToolCalls || f.Texts == "" && f.Calls && c.ParallelToolCalls == nil
		f.Tools = append(f.Tools, peg.Tool{Name: t.Name, Schema: argumentsOf(t, c.Schemas), Input: t.Input})
	}
	return f
}

// answerOf is what the text of an answer must look like.
func answerOf(c *chat.Conversation) peg.Answer {
	a := peg.Answer{Grammar: c.Grammar, Regex: c.Regex, Schema: peg.Schema{Field: answerField, Options: c.Schemas}}
	switch {
	case c.Grammar != "":
		a.Field = "grammar"
	case c.Regex != "":
		a.Field = "regex"
	case c.JSONSchema != "":
		a.JSON = json.RawMessage(c.JSONSchema)
	}
	return a
}

// opensReasoning reports whether a prompt ends within the reasoning of its answer.
func opensReasoning(p native.Prompt) bool {
	at := strings.LastIndex(p.GenerationPrompt, p.ThinkingStart)
	if p.ThinkingStart == "" || at < 0 {
		return false
	}
	return !slices.ContainsFunc(p.ThinkingEnds, func(end string) bool { return strings.Contains(p.GenerationPrompt[at:], end) })
}

// refusedField has a refusal of the engine be one of the conversation.
func refusedField(err error) error {
	var refused *sampling.Invalid
	if !errors.As(err, &refused) {
		return err
	}
	return &chat.Invalid{Field: refused.Field, Reason: strings.TrimPrefix(refused.Error(), refused.Field+" ")}
}

// noArguments is the schema of a tool that says nothing of its arguments.
var noArguments = json.RawMessage(`{"type":"object","additionalProperties":false}`)

// argumentsOf is the schema of a tool's arguments. One that lists none has none: a model would
// make some up. A tool that does not say that it is strict is not, as for OpenAI.
func argumentsOf(t chat.Tool, o schema.Options) peg.Schema {
	s := peg.Schema{JSON: t.Parameters(), Field: t.Field, Options: o}
	s.Options.Loose = t.Strict == nil || !*t.Strict
	var says map[string]json.RawMessage
	if len(s.JSON) == 0 || json.Unmarshal(s.JSON, &says) == nil && listsNothing(says) {
		s.JSON = noArguments
	}
	return s
}

// listsNothing reports whether a schema is that of any object, or of those with a list of
// properties that is empty.
func listsNothing(says map[string]json.RawMessage) bool {
	for word, value := range says {
		switch word {
		case "properties":
			var none map[string]json.RawMessage
			if json.Unmarshal(value, &none) != nil || len(none) > 0 {
				return false
			}
		case "required":
			var none []string
			if json.Unmarshal(value, &none) != nil || len(none) > 0 {
				return false
			}
		case "type":
			if string(value) != `"object"` {
				return false
			}
		case "title", "description", "$schema":
		default:
			return false
		}
	}
	return true
}

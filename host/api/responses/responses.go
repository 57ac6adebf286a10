// SPDX-License-Identifier: MIT

// Package responses serves OpenAI's Responses API.
package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
)

// API answers the routes. Nothing is stored: a response cannot be fetched later, nor gone on with
// by its id.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/responses", Handler: a.create, Body: body{}},
		{Method: http.MethodPost, Path: "/responses", Handler: a.create, Body: body{}},
		{Method: http.MethodPost, Path: "/v1/responses/input_tokens", Handler: a.countTokens, Body: body{}},
		{Method: http.MethodPost, Path: "/responses/input_tokens", Handler: a.countTokens, Body: body{}},
	}
}

func (a API) create(c echo.Context) error { return forCodex(a.answer(c)) }

func (a API) answer(c echo.Context) error {
	r, b, err := a.read(c)
	if err != nil {
		return err
	}
	if !b.onlyLoads() {
		return a.Answer(c, r, newShape(b, r), b.Stream)
	}
	defer r.Release()
	loaded := newShape(b, r).object(completed)
	loaded.Usage = &usage{}
	return c.JSON(http.StatusOK, loaded)
}

// forCodex makes what comes again with the request a bad request: Codex repeats it after any other
// status.
func forCodex(err error) error {
	if err == nil || errors.Is(err, refusal.ErrGone) {
		return err
	}
	e := *completion.AsError(err, "input")
	if e.Kind == refusal.KindPluginFault || e.Kind == refusal.KindImpossible {
		e.Kind = refusal.KindInvalid
	}
	return &e
}

// countTokens tells how many tokens the prompt of a response would have.
func (a API) countTokens(c echo.Context) error {
	r, _, err := a.read(c)
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
	return c.JSON(http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": len(r.Prompts[0])})
}

// read makes the prompt of a body.
func (a API) read(c echo.Context) (*completion.Prompted, *body, error) {
	b := &body{CommonFields: completion.DefaultCommonFields()}
	size, err := wire.ReadBody(c, b)
	if err != nil {
		return nil, nil, err
	}
	asked, err := b.asked(wire.CallerOf(c), size)
	if err != nil {
		return nil, nil, inTool(err)
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	return r, b, inTool(err)
}

// inTool has an error about a function that a tool is name its field in the tool itself, where it
// stands here.
func inTool(err error) error {
	var unfit *chat.Invalid
	var refused *refusal.Error
	if !errors.As(err, &unfit) && !errors.As(err, &refused) {
		return err
	}
	e := *completion.AsError(err, "input")
	field := e.Field
	if strings.HasPrefix(field, "tools[") {
		e.Field = strings.Replace(field, ".function.", ".", 1)
		e.Message = strings.Replace(e.Message, field, e.Field, 1)
	}
	return &e
}

// body is POST /v1/responses.
type body struct {
	completion.CommonFields

	Model             string            `json:"model"`
	Input             json.RawMessage   `json:"input"`
	Instructions      *string           `json:"instructions"`
	Stream            bool              `json:"stream"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	Text              struct {
		Format json.RawMessage `json:"format"`
	} `json:"text"`
	Reasoning struct {
		Effort *string `json:"effort"`
	} `json:"reasoning"`
	TopLogprobs  *int                       `json:"top_logprobs"`
	Include      []string                   `json:"include"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	TemplateArgs map[string]json.RawMessage `json:"chat_template_kwargs"`

	ContextManagement json.RawMessage `json:"context_management" api:"left out"` // it shortens a conversation that is kept

	// Refused while nothing acts on them.
	PreviousResponse json.RawMessage `json:"previous_response_id" api:"refused"`
	Conversation     json.RawMessage `json:"conversation" api:"refused"`
	Prompt           json.RawMessage `json:"prompt" api:"refused"`
	Background       json.RawMessage `json:"background" api:"refused"`
}

// maxLogprobs bounds the alternatives reported with each token.
const maxLogprobs = 20

// includeLogprobs is the entry of include that asks for log-probabilities.
const includeLogprobs = "message.output_text.logprobs"

// asked is the request that a body of size bytes is.
func (b *body) asked(from completion.Caller, size int) (a completion.Asked, err error) {
	for _, f := range []struct {
		name, remedy string
		raw          json.RawMessage
	}{
		{"previous_response_id", "responses are not stored: send the earlier items in input", b.PreviousResponse},
		{"conversation", "conversations are not stored: send the earlier items in input", b.Conversation},
		{"prompt", "prompts are not stored: send their text in instructions and input", b.Prompt},
		{"background", "answers are not computed in the background: leave it out", b.Background},
	} {
		if completion.IsSet(f.raw) {
			return a, refusal.Unsupported(f.name, "%s is not supported by this server; %s", f.name, f.remedy)
		}
	}
	if most := b.MaxOutputTokens; most != nil && *most < 1 {
		return a, refusal.Invalid("max_output_tokens", "max_output_tokens is %d; it must be at least 1", *most)
	}
	if top := b.TopLogprobs; top != nil && (*top < 0 || *top > maxLogprobs) {
		return a, refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, maxLogprobs)
	}
	a = completion.Asked{Caller: from, ModelName: b.Model, PromptField: "input", Size: size, Common: b.CommonFields, Answers: completion.OneAnswer()}
	c, err := b.conversation()
	if err != nil {
		return a, err
	}
	a.Source, a.Limit = completion.Chat{Conversation: c}, b.MaxOutputTokens
	if slices.Contains(b.Include, includeLogprobs) {
		a.LogprobsField = "include"
		if a.Logprobs = 0; b.TopLogprobs != nil {
			a.Logprobs = *b.TopLogprobs
		}
	}
	a.Format, err = b.format()
	return a, err
}

// format is what text.format says; without a Field where it asks for nothing.
func (b *body) format() (f completion.Format, _ error) {
	const field = "text.format"
	raw := b.Text.Format
	if !completion.IsSet(raw) {
		return f, nil
	}
	var said struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, refusal.Invalid(field, "text.format must be an object with a type")
	}
	hasSchema := completion.IsSet(said.Schema) || bytes.Equal(bytes.TrimSpace(said.Schema), []byte("{}"))
	switch {
	case said.Type == "text":
		return f, nil
	case said.Type == "json_object" && (len(said.Schema) == 0 || string(said.Schema) == "null"):
		return completion.Format{Field: field, In: ".schema", JSONSchema: completion.AnyObject}, nil
	case said.Type == "json_object":
		return completion.Format{Field: field, In: ".schema", JSONSchema: said.Schema}, nil
	case said.Type != "json_schema":
		return f, refusal.Invalid("text.format.type", "text.format.type is %q; it must be text, json_object or json_schema", excerpt.Of(said.Type, 40))
	case !hasSchema:
		return f, refusal.Invalid("text.format.schema", "text.format.schema is missing; text.format.type is json_schema")
	}
	return completion.Format{Field: field, In: ".schema", JSONSchema: said.Schema, Strict: said.Strict}, nil
}

// tools gives a conversation the tools, which have the function one level deeper in a chat
// completion.
func (b *body) tools(c *chat.Conversation) (err error) {
	tools := make([]json.RawMessage, 0, len(b.Tools))
	for i, raw := range b.Tools {
		field := fmt.Sprintf("tools[%d]", i)
		if kind, err := chat.TypeOfTool(raw, field); err != nil {
			return err
		} else if kind != "function" {
			tools = append(tools, raw) // which a chat completion takes or leaves out as it is
			continue
		}
		var t struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return refusal.Invalid(field, "%s is not a tool object", field)
		}
		if t.Name == "" {
			return refusal.Invalid(field+".name", "%s.name is missing", field)
		}
		tools = append(tools, slices.Concat([]byte(`{"type":"function","function":`), raw, []byte("}")))
	}
	if c.Tools, c.LeftOut, err = chat.ParseTools(tools, true); err != nil {
		return err
	}
	choice := b.ToolChoice
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(choice, &named) == nil && named.Type == "function" {
		choice, err = json.Marshal(map[string]any{"type": "function", "function": map[string]string{"name": named.Name}})
		if err != nil {
			return err
		}
	}
	c.ToolChoice, err = chat.ParseToolChoice(choice, c.Tools)
	return err
}

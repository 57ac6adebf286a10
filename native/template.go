// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// Template renders conversations with llama.cpp's Jinja engine. It is safe for concurrent use.
type Template struct {
	object
	source string
}

// TemplateStack is the address space, in bytes, that parsing or rendering a template takes for its stack.
const TemplateStack = C.PS_TEMPLATE_STACK

// Conversation is what a template renders, in OpenAI's shapes. The host sets no tools and no schema: it refuses requests with them.
// They are part of what templates render, and the tests render all of llama.cpp's templates with them.
type Conversation struct {
	Messages            json.RawMessage            `json:"messages"`
	Tools               json.RawMessage            `json:"tools,omitempty"`
	ToolChoice          string                     `json:"tool_choice,omitempty"` // auto, none, required; "" is auto
	JSONSchema          string                     `json:"json_schema,omitempty"`
	AddGenerationPrompt bool                       `json:"add_generation_prompt"`
	TemplateArgs        map[string]json.RawMessage `json:"template_args,omitempty"`
}

// Prompt is a rendered conversation and what llama.cpp knows about the answer to it. The host reads Text and Stops. The rest says
// how an answer with tools or a schema is constrained and parsed.
type Prompt struct {
	Text            string    `json:"text"`
	Grammar         string    `json:"grammar"`
	GrammarLazy     bool      `json:"grammar_lazy"` // the grammar starts at a trigger
	Triggers        []Trigger `json:"triggers"`
	Stops           []string  `json:"stops"`
	PreservedTokens []string  `json:"preserved_tokens"`
	Format          string    `json:"format"`
}

// Trigger starts a lazy grammar.
type Trigger struct {
	Kind  string `json:"kind"` // token, word, pattern, pattern_full
	Value string `json:"value"`
	Token int32  `json:"token"`
}

// NewTemplate parses source, or the model's own template if it is empty, or ChatML if the model has none. m may
// be closed before it.
func NewTemplate(m *Model, source string) (*Template, error) {
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("chat template: model %w", err)
	}
	defer m.leave()
	var e C.ps_error
	var c *C.ps_template
	if err := failure(C.ps_template_new(m.c(), textPointer(source), C.size_t(len(source)), &c, &e), &e); err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	t := &Template{}
	t.own(unsafe.Pointer(c), m, func() { C.ps_template_free(c) })
	var text C.ps_text
	if err := failure(C.ps_template_source(c, &text, &e), &e); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("chat template: %w", err)
	}
	t.source = takeText(&text)
	return t, nil
}

// Source is the text of the template.
func (t *Template) Source() string { return t.source }

// Render turns a conversation into a prompt. ErrFailed carries the template's own complaint about the conversation.
func (t *Template) Render(c Conversation) (Prompt, error) {
	if err := checkConversation(c); err != nil {
		return Prompt{}, fmt.Errorf("render: %w", err)
	}
	request, err := json.Marshal(c)
	if err != nil {
		return Prompt{}, fmt.Errorf("render: %w: %w", ErrInvalid, err)
	}
	if err := t.enter(); err != nil {
		return Prompt{}, err
	}
	defer t.leave()
	var e C.ps_error
	var text C.ps_text
	code := C.ps_template_render(t.c(), textPointer(string(request)), C.size_t(len(request)), &text, &e)
	if err := failure(code, &e); err != nil {
		return Prompt{}, fmt.Errorf("render: %w", err)
	}
	var p Prompt
	if err := json.Unmarshal([]byte(takeText(&text)), &p); err != nil {
		return Prompt{}, fmt.Errorf("render: %w: %w", ErrFailed, err)
	}
	return p, nil
}

func (t *Template) c() *C.ps_template { return (*C.ps_template)(t.h.c) }

// SPDX-License-Identifier: MIT

package native

// #include <stdlib.h>
// #include "penstock.h"
// extern int32_t penstockWrite(uintptr_t user, char *told, size_t size, ps_text *out);
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/cgo"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Template renders conversations as llama.cpp tells them to a template, and knows what llama.cpp
// knows about the answers. It is safe for concurrent use.
type Template struct {
	object
	info TemplateInfo
}

// TemplateStack is the address space, in bytes, that parsing or rendering a template takes for its
// stack.
const TemplateStack = C.PS_TEMPLATE_STACK

// TemplateInfo describes a template.
type TemplateInfo struct {
	Source     string          `json:"source"`
	ToolSource string          `json:"tool_source"` // of the template for conversations with tools, where the model has one of its own
	ByName     bool            `json:"by_name"`     // it is code of llama.cpp, which leaves out tools
	Foreign    bool            `json:"foreign"`     // llama.cpp cannot read it: a Writer must, and answers are known to be text and nothing more
	Thinks     bool            `json:"thinks"`      // it has the model reason before it answers
	Caps       map[string]bool `json:"caps"`        // what it makes use of, by llama.cpp's names, such as supports_tools
}

// Conversation is what a template renders, in OpenAI's shapes. What is JSON keeps the order of its
// keys.
type Conversation struct {
	Messages          json.RawMessage `json:"messages"`
	Tools             json.RawMessage `json:"tools,omitempty"`
	ToolChoice        string          `json:"tool_choice,omitempty"` // auto, none, required; "" is auto
	ParallelToolCalls bool            `json:"parallel_tool_calls"`
	JSONSchema        string          `json:"json_schema,omitempty"` // of the answer
	Grammar           string          `json:"grammar,omitempty"`     // of the answer, in GBNF; not together with tools

	AddGenerationPrompt bool   `json:"add_generation_prompt"`
	Continue            string `json:"-"`                          // the last message: "" no, ContinueAuto, or its content or reasoning_content
	ReasoningFormat     string `json:"reasoning_format,omitempty"` // none, auto, deepseek, deepseek-legacy; "" is none
	EnableThinking      bool   `json:"enable_thinking"`

	TemplateArgs map[string]json.RawMessage `json:"template_args,omitempty"`
}

// ContinueAuto has an answer go on with the reasoning of the last message, if that has nothing
// else, or else with its content.
const ContinueAuto = "auto"

// MarshalJSON writes the shape that the shim reads.
func (c Conversation) MarshalJSON() ([]byte, error) {
	type plain Conversation
	var goesOn any = c.Continue
	if c.Continue == ContinueAuto {
		goesOn = true
	}
	return json.Marshal(struct {
		plain
		Continue any `json:"continue"`
	}{plain(c), goesOn})
}

// Prompt is a rendered conversation and what llama.cpp knows about the answer to it.
type Prompt struct {
	Text             string   `json:"text"`
	GenerationPrompt string   `json:"generation_prompt"` // the end of Text, where the assistant's turn begins
	Stops            []string `json:"stops"`
	PreservedTokens  []string `json:"preserved_tokens"` // control tokens whose text belongs to the answer

	Grammar     string    `json:"grammar"`      // GrammarOfParser, or the conversation's; "": the answer is free
	GrammarLazy bool      `json:"grammar_lazy"` // the grammar starts at a trigger
	Triggers    []Trigger `json:"triggers"`

	ThinkingStart string   `json:"thinking_start"` // "": the template has no thinking
	ThinkingEnds  []string `json:"thinking_ends"`

	FreeText bool   `json:"free_text"` // the answer has no parts; no parser is needed
	Format   string `json:"format"`    // for an AnswerFormat, with Parser
	Parser   string `json:"parser"`
}

// GrammarOfParser is the grammar of a prompt whose answer fits what its parser reads, and the
// schemas of the conversation.
const GrammarOfParser = "of the parser" // in llama.cpp/schema.cpp

// Trigger starts a lazy grammar.
type Trigger struct {
	Kind  string `json:"kind"` // token, word, pattern, pattern_full
	Value string `json:"value"`
	Token int32  `json:"token"`
}

// TemplateNames are the templates that llama.cpp has code for. They know roles and texts, and no
// tools.
func TemplateNames() []string {
	var e C.ps_error
	var text C.ps_text
	if failure(C.ps_template_names(&text, &e), &e) != nil {
		return nil // there is no memory
	}
	return strings.Fields(takeText(&text))
}

// Writer makes the text of a prompt of what llama.cpp tells a template, which is JSON. It is called
// from another thread, and several times for a prompt.
type Writer func(told []byte) (string, error)

// NewTemplate parses source, or the model's own template if it is empty, or ChatML if the model
// has none. Source may also be the name of a template that llama.cpp has code for, which knows
// roles and texts only. m may be closed before it.
func NewTemplate(m *Model, source string) (*Template, error) {
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("chat template: model %w", err)
	}
	defer m.leave()
	var e C.ps_error
	var c *C.ps_template
	err := failure(C.ps_template_new(m.c(), textPointer(source), C.size_t(len(source)), &c, &e), &e)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	t := &Template{}
	t.own(unsafe.Pointer(c), m, func() { C.ps_template_free(c) })
	if t.info, err = t.describe(); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return t, nil
}

func (t *Template) describe() (info TemplateInfo, err error) {
	var e C.ps_error
	var text C.ps_text
	if err := failure(C.ps_template_describe(t.c(), &text, &e), &e); err != nil {
		return info, err
	}
	err = json.Unmarshal([]byte(takeText(&text)), &info)
	return info, err
}

// Info describes the template.
func (t *Template) Info() TemplateInfo { return t.info }

// Render turns a conversation into a prompt, whose text write makes; nil: llama.cpp's own
// interpreter does. ErrFailed carries the template's own complaint about the conversation, with its
// place. What cannot be given to a template is a *BadField; an error of write comes back as it is.
// When ctx is done it ends soon, with its cause.
func (t *Template) Render(ctx context.Context, c Conversation, write Writer) (Prompt, error) {
	if ctx.Err() != nil {
		return Prompt{}, fmt.Errorf("render: %w", context.Cause(ctx))
	}
	if err := checkConversation(c); err != nil {
		return Prompt{}, fmt.Errorf("render: %w", err)
	}
	request, err := json.Marshal(c)
	if err != nil {
		return Prompt{}, fmt.Errorf("render: %w: %w", ErrInvalid, err)
	}
	w := &writing{write: write}
	text, err := t.render(ctx, request, w)
	switch {
	case err != nil && w.err != nil && ctx.Err() == nil:
		if bad := checkArguments(c.Messages); bad != nil {
			return Prompt{}, fmt.Errorf("render: %w", bad)
		}
		return Prompt{}, fmt.Errorf("render: %w", w.err)
	case errors.Is(err, ErrCancelled), err != nil && w.err != nil:
		return Prompt{}, fmt.Errorf("render: %w", context.Cause(ctx))
	case errors.Is(err, ErrFailed) && strings.Contains(err.Error(), tooManyMembers):
		return Prompt{}, fmt.Errorf("render: %w", blame(c))
	case errors.Is(err, ErrFailed):
		if bad := checkArguments(c.Messages); bad != nil {
			err = bad
		}
		fallthrough
	case err != nil:
		return Prompt{}, fmt.Errorf("render: %w", atLine(err))
	}
	var p Prompt
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Prompt{}, fmt.Errorf("render: %w: %w", ErrFailed, err)
	}
	return p, nil
}

// writing is a rendering whose text another makes.
type writing struct {
	write Writer
	err   error // of it, the last
}

//export penstockWrite
func penstockWrite(user C.uintptr_t, told *C.char, size C.size_t, out *C.ps_text) C.int32_t {
	w := cgo.Handle(user).Value().(*writing)
	text, err := w.write(unsafe.Slice((*byte)(unsafe.Pointer(told)), int(size)))
	if err != nil {
		w.err = err
		return 1
	}
	out.data, out.size = C.CString(text), C.size_t(len(text))
	return 0
}

// tooManyMembers is the complaint of llama.cpp/schema.cpp, of whichever schema.
const tooManyMembers = "the tools have too many arguments"

// blame is the error of schemas with too many members, which are those of tools if there are any.
func blame(c Conversation) error {
	if len(c.Tools) > 0 {
		return &BadField{"tools", fmt.Errorf("%w: they have too many arguments: at most 2800 are taken in one, and fewer in each of many", ErrInvalid)}
	}
	return &BadField{"json_schema", fmt.Errorf("%w: it has too many members: at most 2800 are taken", ErrInvalid)}
}

func (t *Template) render(ctx context.Context, request []byte, w *writing) (string, error) {
	if err := t.enter(); err != nil {
		return "", err
	}
	defer t.leave()
	givenUp := new(atomic.Int32)
	stop := context.AfterFunc(ctx, func() { givenUp.Store(1) })
	defer stop()
	user := cgo.NewHandle(w)
	defer user.Delete()
	var write C.ps_write_fn
	if w.write != nil {
		write = C.ps_write_fn(C.penstockWrite)
	}
	var e C.ps_error
	var text C.ps_text
	code := C.ps_template_render(t.c(), textPointer(string(request)), C.size_t(len(request)), (*C.int32_t)(unsafe.Pointer(givenUp)),
		write, C.uintptr_t(user), &text, &e)
	if err := failure(code, &e); err != nil {
		return "", err
	}
	return takeText(&text), nil
}

// complaint is how llama.cpp tells where in a template an error comes from; it goes on with what
// stands there.
var complaint = regexp.MustCompile(`(?s)While executing \w+ at (line \d+, column \d+) in source:\n.*\nError: (.*)`)

// atLine shortens a template's complaint to its place and its reason.
func atLine(err error) error {
	if m := complaint.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%w: %s of the template: %s", ErrFailed, m[1], m[2])
	}
	return err
}

func (t *Template) c() *C.ps_template { return (*C.ps_template)(t.h.c) }

// What a request may give to the template besides messages: how many values, each of which
// llama.cpp compares with all others by its name, several times, and how many bytes.
const (
	maxArgs     = 256
	maxArgBytes = 256 << 10
)

// BadField is an ErrInvalid in a field of a Conversation.
type BadField struct {
	Field string // such as tools or template_args.name
	err   error
}

// Error names the field.
func (e *BadField) Error() string { return e.Field + ": " + e.err.Error() }

// Unwrap returns the reason.
func (e *BadField) Unwrap() error { return e.err }

// checkConversation refuses JSON that would take llama.cpp too long, or crash it. Errors are
// *BadField.
func checkConversation(c Conversation) error {
	parts := map[string]string{"messages": string(c.Messages), "tools": string(c.Tools), "json_schema": c.JSONSchema}
	if n := len(c.TemplateArgs); n > maxArgs {
		return &BadField{"template_args", fmt.Errorf("%w: it has %d values; at most %d are taken", ErrInvalid, n, maxArgs)}
	}
	size := 0
	for name, value := range c.TemplateArgs {
		parts["template_args."+name] = string(value)
		if size += len(name) + len(value); size > maxArgBytes {
			return &BadField{"template_args", fmt.Errorf("%w: more than %d bytes", ErrInvalid, maxArgBytes)}
		}
	}
	for name, text := range parts {
		if err := checkJSON("it", text); err != nil {
			return &BadField{name, err}
		}
	}
	return nil
}

// checkJSON refuses a text that has more than llama.cpp is given to parse: what nests deep, has
// many keys, or many values. llama.cpp itself refuses invalid JSON. All that it parses passes this
// check, also what stands as JSON within a text of the JSON that it is given: see parse.h in
// native/llama.cpp; the bounds are in shim/json_limits.cpp there.
func checkJSON(what, text string) error {
	var e C.ps_error
	if code := C.ps_json_check(textPointer(text), C.size_t(len(text)), &e); code != C.PS_OK {
		return fmt.Errorf("%w: %s %s", ErrInvalid, what, C.GoString(&e.text[0]))
	}
	return nil
}

// checkArguments says which arguments of a call llama.cpp was not given to parse. Only some
// templates have it parse them, so this asks after a template has failed.
func checkArguments(messages json.RawMessage) error {
	var list []struct {
		Calls []struct {
			Function struct{ Arguments any }
		} `json:"tool_calls"`
	}
	if json.Unmarshal(messages, &list) != nil {
		return nil //nolint:nilerr // the template's own complaint is the better one
	}
	for i, message := range list {
		for k, call := range message.Calls {
			arguments, _ := call.Function.Arguments.(string)
			if err := checkJSON("it", arguments); err != nil {
				return &BadField{fmt.Sprintf("messages[%d].tool_calls[%d].function.arguments", i, k), err}
			}
		}
	}
	return nil
}

// AnswerFormat says how the answer to a rendered conversation is taken apart: all but SkipPrefill
// is as in the Prompt, ReasoningFormat as in the Conversation.
type AnswerFormat struct {
	Format           string `json:"format"`
	Parser           string `json:"parser"`
	GenerationPrompt string `json:"generation_prompt"`
	ReasoningFormat  string `json:"reasoning_format,omitempty"` // "" is none
	SkipPrefill      bool   `json:"skip_prefill"`               // the part of the answer that the prompt ended with is not told
}

// AnswerParser takes the text of an answer apart with llama.cpp's parsers while the text grows.
type AnswerParser struct{ object }

// AnswerPart is what an answer has gained: reasoning, content, or something of one tool call.
type AnswerPart struct {
	Reasoning string `json:"reasoning"`
	Content   string `json:"content"`
	Call      *int   `json:"call"` // the call's place among those of the answer; nil where it is none
	// ID and Name are told at a call's begin. Most templates give calls no ID.
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // more of the JSON text
}

// NewAnswerParser begins an answer without text.
func NewAnswerParser(f AnswerFormat) (*AnswerParser, error) {
	format, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("parser of answers: %w: %w", ErrInvalid, err)
	}
	var e C.ps_error
	var c *C.ps_answer
	if err := failure(C.ps_answer_new(textPointer(string(format)), C.size_t(len(format)), &c, &e), &e); err != nil {
		return nil, fmt.Errorf("parser of answers: %w", err)
	}
	a := &AnswerParser{}
	a.own(unsafe.Pointer(c), nil, func() { C.ps_answer_free(c) })
	return a, nil
}

// Add appends text, parses the whole answer and returns what that adds to its parts. complete says
// that nothing follows. Then an answer that breaks its format is an ErrFailed, which changes
// nothing of what was told before; until then it adds nothing.
//
// The time that it takes grows with the whole answer: about a millisecond for 40 KB.
func (a *AnswerParser) Add(text string, complete bool) ([]AnswerPart, error) {
	if complete {
		return a.add(text, C.PS_ANSWER_COMPLETE)
	}
	return a.add(text, C.PS_ANSWER_GROWS)
}

// Cut returns what the answer has gained where it was cut off: nothing follows, but it may end with
// half a mark, which is told as nothing. An answer that breaks its format is an ErrFailed.
func (a *AnswerParser) Cut() ([]AnswerPart, error) { return a.add("", C.PS_ANSWER_CUT) }

func (a *AnswerParser) add(text string, end C.int32_t) ([]AnswerPart, error) {
	if err := a.enterAlone(); err != nil {
		return nil, err
	}
	defer a.leaveAlone()
	var e C.ps_error
	var out C.ps_text
	code := C.ps_answer_add((*C.ps_answer)(a.h.c), textPointer(text), C.size_t(len(text)), end, &out, &e)
	if err := failure(code, &e); err != nil {
		return nil, fmt.Errorf("parse the answer: %w", err)
	}
	var parts []AnswerPart
	if err := json.Unmarshal([]byte(takeText(&out)), &parts); err != nil {
		return nil, fmt.Errorf("parse the answer: %w: %w", ErrFailed, err)
	}
	return parts, nil
}

// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

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

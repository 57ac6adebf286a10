// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// said is how an answer came out.
type said struct {
	text, reason string
	fault        string // what a stream that failed says
}

// part is what one event of a stream adds.
type part struct {
	said
	last bool // nothing may follow it
}

// dialect is an API for text.
type dialect struct {
	path   string
	chat   bool
	lines  bool   // a stream is lines of JSON; else server-sent events
	done   bool   // a stream ends with [DONE]
	limit  string // the field for the most tokens
	prompt string // the field for the prompt, or for what the user says
	whole  func([]byte) (said, error)
	part   func([]byte) (part, error)
}

var dialects = []dialect{
	{path: "/v1/completions", done: true, limit: "max_tokens", prompt: "prompt", whole: openAIWhole, part: openAIPart},
	{path: "/completion", limit: "n_predict", prompt: "prompt", whole: completionWhole, part: completionPart},
	{path: "/api/generate", lines: true, prompt: "prompt", whole: ollamaWhole, part: ollamaPart},
	{path: "/v1/chat/completions", chat: true, done: true, limit: "max_tokens", whole: openAIWhole, part: openAIPart},
	{path: "/v1/responses", chat: true, limit: "max_output_tokens", prompt: "input", whole: responsesWhole, part: responsesPart},
	{path: "/v1/messages", chat: true, limit: "max_tokens", whole: anthropicWhole, part: anthropicPart},
	{path: "/api/chat", chat: true, lines: true, whole: ollamaWhole, part: ollamaPart},
}

// body is a question in the words of the dialect.
func (d dialect) body(q question, stream bool) map[string]any {
	b := map[string]any{"temperature": 0, "stream": stream, "model": q.model}
	maps.Copy(b, q.fields)
	if d.prompt != "" {
		b[d.prompt] = q.text
	} else {
		b["messages"] = q.messages()
	}
	if d.limit != "" {
		b[d.limit] = q.most
		return b
	}
	options := map[string]any{"num_predict": q.most}
	for _, name := range []string{"temperature", "seed"} {
		if value, ok := b[name]; ok {
			options[name] = value
		}
		delete(b, name)
	}
	b["options"] = options
	if !d.chat {
		b["raw"] = true
	}
	return b
}

// reasons are the dialects' words for why an answer ended.
var reasons = map[string]string{"stop": "stop", "eos": "stop", "word": "stop", "plugin": "stop", "completed": "stop", "end_turn": "stop", "stop_sequence": "stop",
	"length": "length", "limit": "length", "incomplete": "length", "max_tokens": "length",
	"none": "cancelled", "cancelled": "cancelled", "error": "error", "failed": "error"}

// read reads an answer. The error says what is wrong with its form: that there is no end, or more
// than one.
func (d dialect) read(body []byte, stream bool) (said, error) {
	a, err := said{}, error(nil)
	if stream {
		a, err = d.stream(body)
	} else {
		a, err = d.whole(body)
	}
	if err != nil || a.fault != "" {
		return a, err
	}
	reason, ok := reasons[a.reason]
	if !ok {
		return a, fmt.Errorf("it ended by %q", a.reason)
	}
	a.reason = reason
	return a, nil
}

func (d dialect) stream(body []byte) (sum said, _ error) {
	ended, ends := false, 0
	for _, data := range d.events(body) {
		if ended {
			return sum, fmt.Errorf("after the end comes %s", data)
		}
		if d.done && string(data) == "[DONE]" {
			ended = true
			continue
		}
		p, err := d.part(data)
		if err != nil {
			return sum, fmt.Errorf("%w: %s", err, data)
		}
		if ends > 0 && p.text != "" {
			return sum, fmt.Errorf("after the reason comes the text %q", p.text)
		}
		sum.text += p.text
		if p.reason != "" {
			ends++
			sum.reason = p.reason
		}
		if p.fault != "" {
			ends++
			sum.fault = p.fault
		}
		ended = p.last || !d.done && p.fault != ""
	}
	switch {
	case !ended:
		return sum, errors.New("the stream has no end")
	case ends != 1:
		return sum, fmt.Errorf("the stream says %d times why it ended", ends)
	}
	return sum, nil
}

// events takes a stream apart. Comments and the names of events, which their data repeat, are left
// out.
func (d dialect) events(body []byte) (all [][]byte) {
	for line := range bytes.Lines(body) {
		line = bytes.TrimRight(line, "\r\n")
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if d.lines {
			data, ok = line, len(line) > 0
		}
		if ok {
			all = append(all, data)
		}
	}
	return all
}

// faultOf is an error object as text; empty where there is none.
func faultOf(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

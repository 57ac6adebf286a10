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
var reasons = map[string]string{"stop": "stop", "eos": "stop", "word": "stop", "completed": "stop", "end_turn": "stop", "stop_sequence": "stop",
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

// Each dialect has a function for a whole answer and one for an event of a stream.

var errChoices = errors.New("it has not one choice")

type openAI struct {
	Choices []struct {
		Text    string
		Message struct{ Content string }
		Delta   struct{ Content string }
		Reason  string `json:"finish_reason"`
	}
	Error json.RawMessage
}

func openAIWhole(body []byte) (said, error) {
	var a openAI
	if err := json.Unmarshal(body, &a); err != nil {
		return said{}, err
	}
	if len(a.Choices) != 1 {
		return said{}, errChoices
	}
	c := a.Choices[0]
	return said{text: c.Text + c.Message.Content, reason: c.Reason}, nil
}

func openAIPart(data []byte) (p part, err error) {
	var a openAI
	if err := json.Unmarshal(data, &a); err != nil {
		return p, err
	}
	p.fault = faultOf(a.Error)
	for _, c := range a.Choices {
		p.text += c.Text + c.Delta.Content
		p.reason = c.Reason
	}
	return p, nil
}

type completion struct {
	Content string
	Stop    bool
	Type    string `json:"stop_type"`
	Error   json.RawMessage
}

func completionWhole(body []byte) (said, error) {
	var a completion
	err := json.Unmarshal(body, &a)
	return said{text: a.Content, reason: a.Type}, err
}

func completionPart(data []byte) (part, error) {
	var a completion
	err := json.Unmarshal(data, &a)
	p := part{said: said{text: a.Content, fault: faultOf(a.Error)}, last: a.Stop}
	if a.Stop {
		p.reason = a.Type
	}
	return p, err
}

type response struct {
	Status string
	Output []struct {
		Content []struct{ Text string }
	}
}

func (r response) said() said {
	a := said{reason: r.Status}
	for _, item := range r.Output {
		for _, c := range item.Content {
			a.text += c.Text
		}
	}
	return a
}

func responsesWhole(body []byte) (said, error) {
	var r response
	err := json.Unmarshal(body, &r)
	return r.said(), err
}

func responsesPart(data []byte) (p part, err error) {
	var e struct {
		Type     string
		Delta    string
		Response response
		Error    json.RawMessage
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return p, err
	}
	p.fault = faultOf(e.Error)
	switch e.Type {
	case "response.output_text.delta":
		p.text = e.Delta
	case "response.completed", "response.incomplete":
		p.reason, p.last = e.Response.Status, true
	}
	return p, nil
}

func anthropicWhole(body []byte) (said, error) {
	var m struct {
		Content []struct{ Text string }
		Reason  string `json:"stop_reason"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return said{}, err
	}
	a := said{reason: m.Reason}
	for _, c := range m.Content {
		a.text += c.Text
	}
	return a, nil
}

func anthropicPart(data []byte) (part, error) {
	var e struct {
		Type  string
		Delta struct {
			Text   string
			Reason string `json:"stop_reason"`
		}
		Error json.RawMessage
	}
	err := json.Unmarshal(data, &e)
	return part{said{e.Delta.Text, e.Delta.Reason, faultOf(e.Error)}, e.Type == "message_stop"}, err
}

type ollamaLine struct {
	Message  struct{ Content string }
	Response string
	Done     bool
	Reason   string `json:"done_reason"`
	Error    string
}

func ollamaWhole(body []byte) (said, error) {
	var l ollamaLine
	if err := json.Unmarshal(body, &l); err != nil {
		return said{}, err
	}
	if !l.Done {
		return said{}, fmt.Errorf("a whole answer is not done")
	}
	return said{text: l.Message.Content + l.Response, reason: l.Reason}, nil
}

func ollamaPart(data []byte) (part, error) {
	var l ollamaLine
	err := json.Unmarshal(data, &l)
	return part{said{l.Message.Content + l.Response, l.Reason, l.Error}, l.Done}, err
}

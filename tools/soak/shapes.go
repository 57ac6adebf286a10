// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

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

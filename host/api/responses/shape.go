// SPDX-License-Identifier: MIT

package responses

import (
	"crypto/rand"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// shape is how a response is written.
type shape struct {
	body    *body
	request *completion.Prompted
	id      string
	created int64

	items  []output // those that have begun; the last may still grow
	open   bool     // the last one does
	call   int      // its index among the calls, where it is one
	number int      // of the next event
}

func newShape(b *body, r *completion.Prompted) *shape {
	return &shape{body: b, request: r, id: "resp_" + rand.Text(), created: time.Now().Unix()}
}

// Framing implements wire.Shape.
func (*shape) Framing() wire.Framing { return wire.Events }

// Closing implements wire.Shape.
func (*shape) Closing([]*completion.Choice) []any { return nil }

// Whole implements wire.Shape.
func (s *shape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	w := wholes[0]
	if text := w.Reasoning.String(); text != "" {
		s.begin("reasoning")
		s.last().add(text, nil)
	}
	if text := w.Content.String(); text != "" || len(w.Calls) == 0 {
		s.begin("message")
		s.last().add(text, w.Said)
	}
	for _, c := range w.Calls {
		s.beginCall(c)
		s.last().addArguments(c.Arguments)
	}
	state := completed
	if choices[0].FinishReason() == "length" {
		state = cut
	}
	for i := range s.items {
		s.items[i].Status = completed
	}
	s.last().Status = state
	r := s.object(completed)
	r.finish(choices[0], s.items)
	return r
}

func (s *shape) last() *output { return &s.items[len(s.items)-1] }

// begin begins an item with text.
func (s *shape) begin(kind string) {
	it := output{ID: "msg_" + rand.Text(), Type: kind, Status: inProgress, Content: &[]part{}}
	if kind == "reasoning" {
		it.ID, it.Summary = "rs_"+rand.Text(), &[]part{}
	} else {
		it.Role = "assistant"
	}
	s.items = append(s.items, it)
	s.open = true
}

func (s *shape) beginCall(c completion.CallDelta) {
	it := output{ID: "fc_" + rand.Text(), Type: functionCall, Status: inProgress, CallID: c.ID, Name: c.Name, Arguments: new(string)}
	if c.Custom {
		it.ID, it.Type, it.Arguments, it.Input = "ctc_"+rand.Text(), customCall, nil, new(string)
	}
	s.items = append(s.items, it)
	s.open, s.call = true, c.Index
}

// add appends text to an item's only part.
func (o *output) add(text string, probs []wire.TokenProb) {
	if len(*o.Content) == 0 {
		*o.Content = []part{newPart(o.Type)}
	}
	p := &(*o.Content)[0]
	p.Text += text
	if p.Logprobs != nil {
		*p.Logprobs = append(*p.Logprobs, probs...)
	}
}

// addArguments appends text to a call, in a copy: an event may still have what there was.
func (o *output) addArguments(text string) {
	to := &o.Arguments
	if o.Type == customCall {
		to = &o.Input
	}
	joined := **to + text
	*to = &joined
}

// The types of items that are calls.
const (
	functionCall = "function_call"
	customCall   = "custom_tool_call"
)

// newPart is the part of an item of a kind, without text.
func newPart(kind string) part {
	if kind == "reasoning" {
		return part{Type: "reasoning_text"}
	}
	return part{Type: "output_text", Annotations: &[]any{}, Logprobs: &[]wire.TokenProb{}}
}

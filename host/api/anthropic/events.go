// SPDX-License-Identifier: MIT

package anthropic

import (
	"encoding/json"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

type startEvent struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
}

type blockStartEvent struct {
	Type  string       `json:"type"`
	Index int          `json:"index"`
	Block contentBlock `json:"content_block"`
}

type blockDeltaEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta delta  `json:"delta"`

	Trace []wire.TokenTrace `json:"trace,omitempty"` // an addition of ours
}

// delta is what a block gains. Fields that its type does not have are nil.
type delta struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
	Input     *string `json:"partial_json,omitempty"`
}

type blockStopEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type endEvent struct {
	Type  string `json:"type"`
	Delta ending `json:"delta"`
	Usage usage  `json:"usage"`

	Recording string `json:"recording,omitempty"` // an addition of ours
}

type ending struct {
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

type plainEvent struct {
	Type string `json:"type"`
}

// EventName is the name of an event, which is its type.
func (e startEvent) EventName() string      { return e.Type }
func (e blockStartEvent) EventName() string { return e.Type }
func (e blockDeltaEvent) EventName() string { return e.Type }
func (e blockStopEvent) EventName() string  { return e.Type }
func (e endEvent) EventName() string        { return e.Type }
func (e plainEvent) EventName() string      { return e.Type }

// blocks writes the content of a message as events, block after block.
type blocks struct {
	kind   string            // of the open block; "": none is open
	call   int               // of the open block, where that is a call
	opened int               // blocks so far
	calls  int               // of them
	traces []wire.TokenTrace // of tokens whose text is still to come
}

// add writes what an event adds to the content.
func (b *blocks) add(d completion.Delta, traces []wire.TokenTrace) (events []any) {
	b.traces = append(b.traces, traces...)
	if d.Reasoning != "" {
		begin := contentBlock{Type: "thinking", Thinking: new(string), Signature: new(string)}
		events = append(b.open(begin, 0), b.delta(delta{Type: "thinking_delta", Thinking: &d.Reasoning}))
	}
	if d.Content != "" {
		events = append(events, b.open(contentBlock{Type: "text", Text: new(string)}, 0)...)
		events = append(events, b.delta(delta{Type: "text_delta", Text: &d.Content}))
	}
	for _, call := range d.Calls {
		begin := contentBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: json.RawMessage("{}")}
		events = append(events, b.open(begin, call.Index)...)
		events = append(events, b.delta(delta{Type: "input_json_delta", Input: &call.Arguments}))
	}
	return events
}

// open begins a block, unless the one that is open is of its type and of this call.
func (b *blocks) open(begin contentBlock, call int) []any {
	if b.kind == begin.Type && b.call == call {
		return nil
	}
	events := append(b.close(), blockStartEvent{"content_block_start", b.opened, begin})
	if b.opened == 0 {
		events = append(events, plainEvent{"ping"})
	}
	b.kind, b.call = begin.Type, call
	b.opened++
	if b.kind == "tool_use" {
		b.calls++
	}
	return events
}

// close ends the open block. What the model thought has no signature: nothing here could check one.
func (b *blocks) close() (events []any) {
	if b.kind == "" {
		return nil
	}
	if b.kind == "thinking" {
		events = append(events, b.delta(delta{Type: "signature_delta", Signature: new(string)}))
	}
	b.kind = ""
	return append(events, blockStopEvent{"content_block_stop", b.opened - 1})
}

func (b *blocks) delta(d delta) blockDeltaEvent {
	e := blockDeltaEvent{Type: "content_block_delta", Index: b.opened - 1, Delta: d, Trace: b.traces}
	b.traces = nil
	return e
}

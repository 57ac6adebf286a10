// SPDX-License-Identifier: MIT

package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/tools/must"
)

// Each part of an answer is a block of its own, which ends before the next begins.
func TestBlocks_Add_Order(t *testing.T) {
	var b blocks
	var events []any
	for _, d := range []completion.Delta{
		{Reasoning: "h"}, {Reasoning: "m"}, {Content: "a"}, {}, {Content: "b"},
		{Calls: []completion.CallDelta{{Index: 0, ID: "c0", Name: "f"}}},
		{Calls: []completion.CallDelta{{Index: 0, Arguments: "{}"}, {Index: 1, ID: "c1", Name: "g", Arguments: "{"}}},
		{Calls: []completion.CallDelta{{Index: 1, Arguments: "}"}}},
		{Content: "c"},
	} {
		events = append(events, b.add(d, nil)...)
	}
	events = append(events, b.close()...)
	want := `
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"ping"}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":""}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}
{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c0","name":"f","input":{}}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}
{"type":"content_block_stop","index":2}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c1","name":"g","input":{}}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{"}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"}"}}
{"type":"content_block_stop","index":3}
{"type":"content_block_start","index":4,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"c"}}
{"type":"content_block_stop","index":4}
`
	var got strings.Builder
	for _, e := range events {
		text := must.Get(json.Marshal(e))(t)
		got.WriteString("\n" + string(text))
	}
	if diff := cmp.Diff(want, got.String()+"\n"); diff != "" {
		t.Error(diff)
	}
	if b.calls != 2 {
		t.Errorf("%d calls were counted", b.calls)
	}
}

// A message begins before its error, also where it never had a slot.
func TestShape_Failed_BeginsTheMessage(t *testing.T) {
	s := newShape(&completion.Prompted{Model: &serving.Model{}}, &messagesBody{})
	for i, want := range []int{2, 1} { // the second time it has begun
		if events := s.Failed(refusal.Invalid("x", "wrong")); len(events) != want {
			t.Errorf("%d: %v", i, events)
		} else if _, ok := events[0].(startEvent); ok != (want == 2) {
			t.Errorf("%d: %+v", i, events[0])
		}
	}
}

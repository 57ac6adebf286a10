// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

func TestConversation_GoesOn(t *testing.T) {
	asked := []json.RawMessage{[]byte(`{"role":"user","content":"a"}`)}
	type on struct {
		with  chat.Continuation
		fresh bool
	}
	for text, want := range map[string]on{"": {}, "null": {}, "false": {fresh: true}, "true": {with: chat.ContinueAuto},
		`"content"`: {with: chat.ContinueContent}, `"reasoning_content"`: {with: chat.ContinueReasoning}} {
		c, err := (&Conversation{Messages: asked, ContinueFinalMessage: []byte(text)}).read()
		if got := (on{c.Continue, c.Fresh}); err != nil || got != want {
			t.Errorf("%s: got %+v and %v, want %+v", text, got, err, want)
		}
	}
	if _, err := (&Conversation{Messages: asked, ContinueFinalMessage: []byte(`1`)}).read(); err == nil {
		t.Error("1 is taken")
	}
}

// The shapes are OpenAI's to the letter: clients decode them strictly.
func TestChatShape_ToolCalls(t *testing.T) {
	r := &completion.Prompted{Asked: completion.Asked{Answers: completion.OneAnswer()}, Model: &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}}}
	s := newChatShape(API{Server: &wire.Server{}}.newAnswerHeads("chatcmpl-", r, &AnswerFields{}))
	c := &completion.Choice{Request: &completion.Submitted{Prompted: r}}
	whole := &wire.Whole{}
	for _, step := range []struct {
		delta completion.Delta
		want  string
	}{
		{completion.Delta{Reasoning: "hm"}, `{"reasoning_content":"hm"}`},
		{completion.Delta{Content: "Let"}, `{"content":"Let"}`},
		{completion.Delta{Calls: []completion.CallDelta{{ID: "c1", Name: "f"}}},
			`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`},
		{completion.Delta{Calls: []completion.CallDelta{{Arguments: `{"a"`}}}, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`},
		{completion.Delta{Content: "!", Calls: []completion.CallDelta{{Arguments: `:1}`}, {Index: 1, ID: "c2", Name: "g", Arguments: "{}"}}},
			`{"content":"!","tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]}`},
		{completion.Delta{Event: scheduler.Event{Kind: scheduler.KindToken}}, `{"content":""}`},
	} {
		whole.Add(&step.delta)
		frames := s.Part(c, step.delta)
		if got := written(t, frames[len(frames)-1].(*chatChunk).Choices[0].Delta); got != step.want {
			t.Errorf("got  %s\nwant %s", got, step.want)
		}
	}
	want := `{"role":"assistant","content":"Let!","refusal":null,"reasoning_content":"hm","tool_calls":[` +
		`{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]}`
	if got := written(t, messageOf(whole)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	whole.Content.Reset()
	if got := written(t, messageOf(whole)); !strings.Contains(got, `"content":null`) {
		t.Errorf("calls without content: %s", got)
	}
}

func written(t *testing.T, v any) string {
	t.Helper()
	b := must.Get(json.Marshal(v))(t)
	return string(b)
}

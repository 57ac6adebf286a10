// SPDX-License-Identifier: MIT

package responses

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// Each message has the field that the client knows it by: what the assistant thought, said and
// called is one.
func TestBody_Conversation_Fields(t *testing.T) {
	instructions := "be brief"
	b := &body{Instructions: &instructions, Input: json.RawMessage(`[{"role":"user","content":"hi"},{"type":"web_search_call"},{"type":"reasoning","summary":[]},{"role":"assistant","content":"no"},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"5"},{"role":"developer","content":"x"}]`)}
	c := must.Get(b.conversation())(t)
	var fields []string
	for _, m := range c.Messages {
		fields = append(fields, m.Field)
	}
	if d := cmp.Diff([]string{"instructions", "input[0]", "input[2]", "input[5]", "input[6]"}, fields); d != "" {
		t.Error(d)
	}
}

// What the assistant thought and said in many items takes no longer than as many messages.
func TestBody_Conversation_ManyItems(t *testing.T) {
	const n = 5000
	long := strings.Repeat("x", 1<<20)
	read := func(item string) func() {
		b := &body{Input: json.RawMessage(`[` + strings.Replace(item, `"x"`, `"`+long+`"`, 1) + strings.Repeat(`,`+item, n) + `]`)}
		return func() {
			must.Get(b.conversation())(t)
		}
	}
	thought := `{"type":"reasoning","content":[{"type":"reasoning_text","text":"x"}]}`
	said := `{"role":"assistant","content":"x"}`
	messages := steadytest.Cost(t, read(`{"role":"user","content":"x"}`))
	for _, item := range []string{thought, said} {
		if took, ok := steadytest.Within(t, 10*messages, read(item)); !ok {
			t.Errorf("%s: %v, messages take %v", item, took, messages)
		}
	}
}

// What the assistant says in several items is one message.
func TestBody_Conversation_OneTurn(t *testing.T) {
	b := &body{Input: json.RawMessage(`[{"type":"reasoning","summary":[{"type":"summary_text","text":"h"}]},{"role":"assistant","content":""},{"type":"reasoning","content":[{"type":"reasoning_text","text":"m"}]},
		{"role":"assistant","content":"a"},{"role":"assistant","content":[{"type":"output_text","text":"b"},{"type":"output_text","text":"c"}]}]`)}
	c, err := b.conversation()
	if err != nil || len(c.Messages) != 1 || c.Messages[0].Role != "assistant" || c.Messages[0].Content != "a\nb\nc" || c.Messages[0].Reasoning != "hm" {
		t.Errorf("%+v %v", c.Messages, err)
	}
}

// What would come again is told by the status and the code after which Codex does not repeat a
// request; what passes keeps its own.
func TestForCodex_WhatComesAgain(t *testing.T) {
	for _, tc := range []struct {
		kind   refusal.Kind
		code   string
		status int
		failed string
	}{
		{refusal.KindPluginFault, "plugin_fault", 400, "invalid_prompt"},
		{refusal.KindImpossible, "timeout", 400, "invalid_prompt"},
		{refusal.KindInvalid, refusal.TooLongCode, 400, refusal.TooLongCode},
		{refusal.KindUnavailable, "worker_lost", 503, "worker_lost"},
		{refusal.KindInternal, "internal_error", 500, "internal_error"},
	} {
		e := &refusal.Error{Kind: tc.kind, Code: tc.code}
		var told *refusal.Error
		if !errors.As(forCodex(e), &told) || wire.StatusOf(told) != tc.status || told.Code != tc.code || failedCode(e) != tc.failed {
			t.Errorf("%s: %v, and in a stream %s", tc.code, told, failedCode(e))
		}
	}
}

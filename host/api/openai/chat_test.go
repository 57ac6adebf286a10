// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/json"
	"testing"

	"github.com/penstock/penstock/host/chat"
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

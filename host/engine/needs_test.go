// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/chat/form"
)

// Nobody waits for what a template needs longer than for the prompt, and the search ends when the
// engine is closed.
func TestEngine_Render_WhileNeedsAreSought(t *testing.T) {
	e := opened(t, Options{Slots: 1, ContextSize: 512})
	begun, ended := make(chan struct{}), false
	e.needs = newNeed(func(ctx context.Context) form.Form {
		close(begun)
		<-ctx.Done() // only Close ends it
		ended = true
		return 0
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	go func() {
		<-begun
		cancel(left)
	}()
	if _, err := e.Render(ctx, chat.Conversation{Messages: hello}); !errors.Is(err, left) {
		t.Error(err)
	}
	e.needs.close()
	if !ended {
		t.Error("the search goes on")
	}
}

// What a long conversation costs is bounded: few renderings are tried of one, and of many tools.
func TestRenderings(t *testing.T) {
	text := strings.Repeat("x", 50<<10)
	parts := make([]string, 500)
	for name, c := range map[string]struct {
		messages []chat.Message
		tools    json.RawMessage
		want     int
	}{
		"one":          {hello, nil, 32},
		"a text":       {[]chat.Message{{Content: text}}, nil, 32},
		"two texts":    {[]chat.Message{{Content: text}, {Reasoning: text}}, nil, 8},
		"many":         {make([]chat.Message, 500), nil, 8},
		"many parts":   {[]chat.Message{{Parts: parts}}, nil, 8},
		"many calls":   {[]chat.Message{{ToolCalls: make([]chat.ToolCall, 500)}}, nil, 8},
		"a large call": {[]chat.Message{{ToolCalls: []chat.ToolCall{chat.NewToolCall("", "f", text+text)}}}, nil, 8},
		"many tools":   {hello, json.RawMessage(text + text), 8},
	} {
		if got := renderings(c.messages, c.tools); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

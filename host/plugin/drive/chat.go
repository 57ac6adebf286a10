// SPDX-License-Identifier: MIT

package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
)

// Chat is a conversation that a template should render or refuse.
type Chat struct {
	Messages []byte // JSON
	Media    []byte // JSON, of what is in them
}

// Everyday is a conversation of everyday length.
var Everyday = Chat{Messages: []byte(`[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"Tell me a story about a frog."},` +
	`{"role":"assistant","content":"Once upon a time there was a frog."},{"role":"user","content":"And then?"}]`)}

// message is one of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// talks are conversations of text.
var talks = [][]message{
	{{"user", "Hello"}},
	{{"system", "You are a frog."}, {"user", "Hello"}, {"assistant", "Ribbit."}, {"user", "Goodbye"}},
	{{"user", ""}},
	{{"user", "naïve ☃ 👋 \u0000 \\ \" \n\t </s> <|im_end|>"}},
	{{"tool", "{}"}, {"user", "x"}},
	{{"", "no role"}},
	{{"user", strings.Repeat("long ", 20_000)}},
	{{"assistant", "first"}, {"assistant", "second"}},
	{},
}

// Chats are conversations of many kinds, some with pictures.
func Chats() ([]Chat, error) {
	var all []Chat
	for _, talk := range talks {
		text, err := json.Marshal(talk)
		if err != nil {
			return nil, err
		}
		all = append(all, Chat{Messages: text})
	}
	media := []byte("[" + about(`"text":"`+marker+`"`) + "]")
	for _, text := range seen() {
		all = append(all, Chat{[]byte(text), media})
	}
	return all, nil
}

// seen are conversations with the picture: once, and in several messages.
func seen() []string {
	part, text := about(`"text":"`+marker+`"`), func(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }
	first := `{"role":"user","content":[` + text("What is ") + `,` + part + `,` + text("?") + `]}`
	return []string{
		`[` + first + `]`,
		`[{"role":"system","content":"You are a frog."},` + first + `,{"role":"assistant","content":"A frog."},{"role":"user","content":[` + part + `,` + part + `]}]`,
	}
}

// Make is what a plugin makes of a conversation: messages, and then a prompt, if it does both.
func (c Chat) Make(ctx context.Context, p *load.Plugin, r plugin.RequestInfo) (string, error) {
	messages := c.Messages
	r.Media = c.Media
	if p.Rewrites() {
		rewritten, err := stage.RewriteMessages(ctx, p, messages, r, nil, func(text []byte) error { return json.Unmarshal(text, &[]map[string]any{}) })
		if err != nil {
			return "", err
		}
		if rewritten != nil { // nil: it left them as they are
			messages = rewritten
		}
	}
	if !p.IsTemplate() {
		return string(messages), nil
	}
	return stage.Render(ctx, p, messages, r)
}

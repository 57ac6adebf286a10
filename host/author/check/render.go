// SPDX-License-Identifier: MIT

package check

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
)

// message is one of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chats are conversations that a template should render or refuse.
var chats = [][]message{
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

// render tries a plugin that makes prompts, or rewrites messages, on all chats, each twice.
func (r *Report) render(ctx context.Context, p *load.Plugin, o Options) {
	var all []string
	for _, talk := range chats {
		text, err := json.Marshal(talk)
		if err != nil {
			r.find("%v", err)
			return
		}
		all = append(all, string(text))
	}
	media := []byte("[" + about(`"text":"`+marker+`"`) + "]")
	for i, text := range append(all, seen()...) {
		request := plugin.RequestInfo{Config: o.Config, ContextSize: 4096}
		if i >= len(all) {
			request.Media = media
		}
		var prompts [2]string
		for n := range prompts {
			var refusal *plugin.Refusal
			var err error
			prompts[n], err = made(ctx, p, []byte(text), request)
			if err != nil && !errors.As(err, &refusal) {
				r.find("conversation %d (%.60s): %v", i, text, err)
				return
			}
		}
		if prompts[0] != prompts[1] {
			r.find("conversation %d (%.60s): what it makes of it is something else the second time", i, text)
			return
		}
	}
}

// made is what a plugin makes of a conversation: messages, and then a prompt, if it does both.
func made(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo) (string, error) {
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

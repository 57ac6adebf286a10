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

// render tries a template on all chats, each twice.
func (r *Report) render(ctx context.Context, p *load.Plugin, o Options) {
	for i, talk := range chats {
		text, err := json.Marshal(talk)
		if err != nil {
			r.find("%v", err)
			return
		}
		var prompts [2]string
		for n := range prompts {
			var refusal *plugin.Refusal
			prompts[n], err = stage.Render(ctx, p, text, plugin.Request{Config: o.Config, ContextSize: 4096})
			if err != nil && !errors.As(err, &refusal) {
				r.find("conversation %d (%.60s): %v", i, text, err)
				return
			}
		}
		if prompts[0] != prompts[1] {
			r.find("conversation %d (%.60s): the prompt is another one the second time", i, text)
			return
		}
	}
}

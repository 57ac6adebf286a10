// SPDX-License-Identifier: MIT

package check

import (
	"context"
	"errors"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
)

// render tries a plugin that makes prompts, or rewrites messages, on all chats, each twice.
func (r *Report) render(ctx context.Context, p *load.Plugin, o Options) {
	chats, err := drive.Chats()
	if err != nil {
		r.find("%v", err)
		return
	}
	for i, chat := range chats {
		var prompts [2]string
		for n := range prompts {
			var refusal *plugin.Refusal
			prompts[n], err = chat.Make(ctx, p, plugin.RequestInfo{Config: o.Config, ContextSize: contextSize})
			if err != nil && !errors.As(err, &refusal) {
				r.find("conversation %d (%.60s): %v", i, chat.Messages, err)
				return
			}
		}
		if prompts[0] != prompts[1] {
			r.find("conversation %d (%.60s): what it makes of it is something else the second time", i, chat.Messages)
			return
		}
	}
}

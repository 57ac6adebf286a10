// SPDX-License-Identifier: MIT

package stage

import (
	"context"
	"fmt"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
)

// Render lets a template plugin turn a conversation, a JSON list of messages, into the text of a
// prompt, in an instance of its own, unless the context ends first. The error is a
// *plugin.Refusal, a *plugin.Fault, or one of New's.
func Render(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo) (string, error) {
	return RenderWatched(ctx, p, messages, r, nil)
}

// RenderWatched is Render with a watcher of the calls; nil: nobody watches.
func RenderWatched(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo, w guest.Watcher) (string, error) {
	prompt, err := emitted(ctx, p, guest.Template, messages, &r, w, func(text string) error {
		if text == "" {
			return fmt.Errorf("no prompt was handed to %s", abi.ImportEmit)
		}
		return nil
	})
	return prompt, err
}

// RewriteMessages lets a plugin rewrite a conversation, a JSON list of messages, in an instance of
// its own. Without a change it returns nil. check says what is wrong with what the plugin has
// made, which is its fault. The error is as of Render. A nil watcher watches nothing.
func RewriteMessages(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo, w guest.Watcher, check func([]byte) error) ([]byte, error) {
	text, err := emitted(ctx, p, guest.Messages, messages, &r, w, func(text string) error {
		if text == "" {
			return nil
		}
		return check([]byte(text))
	})
	if err != nil || text == "" {
		return nil, err
	}
	return []byte(text), nil
}

// emitted is what an export hands to emit, in an instance of its own that is told the messages.
func emitted(ctx context.Context, p *load.Plugin, export guest.Export, messages []byte, r *plugin.RequestInfo, w guest.Watcher, check func(string) error) (string, error) {
	s, err := p.Begin(r)
	if err != nil {
		return "", err
	}
	defer p.End()
	s.Messages, s.Done, s.Watcher = messages, ctx.Done(), w
	s.SetupDeadline = r.Setup.Deadline(p.Module.Env.Limits.SetupTime)
	i, err := p.Module.NewInstance(ctx, s)
	if err != nil {
		return "", err
	}
	defer func() { _ = i.Close(true) }() // the text is there
	for _, e := range []guest.Export{guest.Open, export} {
		if !i.Has(e) {
			continue
		}
		if returned, err := i.Call(e, 0, 0); ctx.Err() != nil {
			return "", ctx.Err()
		} else if err != nil {
			return "", err
		} else if returned != 0 {
			return "", i.Refusal(e)
		}
	}
	text := i.Emitted()
	if err := check(text); err != nil {
		return "", i.Fail(export, guest.Violationf(plugin.CauseAnswer, "%v", err))
	}
	return text, nil
}

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
// prompt, in an instance of its own. The error is a *plugin.Refusal, a *plugin.Fault, one of New's,
// or the context's if that ends first.
func Render(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo) (string, error) {
	return RenderWatched(ctx, p, messages, r, nil)
}

// RenderWatched is Render with a watcher of the calls, which may be nil.
func RenderWatched(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo, w guest.Watcher) (string, error) {
	return callForText(ctx, p, guest.Template, messages, &r, w, func(text string) error {
		if text == "" {
			return fmt.Errorf("no prompt was handed to %s", abi.ImportEmit)
		}
		return nil
	})
}

// RewriteMessages lets a plugin rewrite a conversation, a JSON list of messages, in an instance of
// its own. It returns nil if the plugin changes nothing. If check returns an error for the new
// conversation, that is a fault of the plugin. Errors are those of Render. The watcher may be nil.
func RewriteMessages(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo, w guest.Watcher, check func([]byte) error) ([]byte, error) {
	text, err := callForText(ctx, p, guest.Messages, messages, &r, w, func(text string) error {
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

// callForText makes an instance for the messages, calls its open and one more export, and returns
// the text that it handed to emit, once check has accepted it.
func callForText(ctx context.Context, p *load.Plugin, export guest.Export, messages []byte, r *plugin.RequestInfo, w guest.Watcher, check func(string) error) (string, error) {
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
	defer func() { _ = i.Close(true) }() // a fault of close comes too late: the text has been read
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

// SPDX-License-Identifier: MIT

package stage

import (
	"context"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
)

// Render lets a template plugin turn a conversation, a JSON list of messages, into the text of a prompt, in an instance of
// its own, unless the context ends first. The error is a *plugin.Refusal, a *plugin.Fault, or one of New's.
func Render(ctx context.Context, p *load.Plugin, messages []byte, r plugin.Request) (string, error) {
	return RenderWatched(ctx, p, messages, r, nil)
}

// RenderWatched is Render with a watcher of the calls; nil: nobody watches.
func RenderWatched(ctx context.Context, p *load.Plugin, messages []byte, r plugin.Request, w guest.Watcher) (string, error) {
	s, err := p.Begin(&r)
	if err != nil {
		return "", err
	}
	defer p.End()
	s.Messages, s.Done, s.Watcher = messages, ctx.Done(), w
	s.SetupDeadline = r.Setup.Deadline(p.Module.Host.Limits.SetupTime)
	i, err := p.Module.NewInstance(ctx, s)
	if err != nil {
		return "", err
	}
	defer func() { _ = i.Close(true) }() // the prompt is there
	for _, e := range []guest.Export{guest.Open, guest.Template} {
		if !p.Module.Has(e) {
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
	prompt := i.Emitted()
	if prompt == "" {
		return "", i.Fail(guest.Template, guest.Violationf(plugin.CauseAnswer, "no prompt was handed to %s", abi.ImportEmit))
	}
	return prompt, nil
}

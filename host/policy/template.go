// SPDX-License-Identifier: MIT

package policy

import (
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/sampling"
)

// Render implements completion.Policies.
func (b *Builder) Render(ctx context.Context, params sampling.Params, list []completion.PluginUse, messages []chat.Message) (text *string, err error) {
	uses, err := b.resolve(list, params.Chain)
	defer release(uses)
	if err != nil {
		return nil, err
	}
	var chosen *use
	for i := range uses {
		u := &uses[i]
		switch {
		case !u.plugin.IsTemplate():
		case chosen != nil:
			return nil, completion.Invalid("plugins", "plugins %q and %q are both templates; a request can have one", chosen.Name, u.Name)
		default:
			chosen = u
		}
	}
	if chosen == nil {
		return nil, nil
	}
	data, err := json.Marshal(messages)
	if err != nil {
		return nil, err
	}
	written, err := recording.Render(ctx, chosen.plugin, data, plugin.Request{Client: chosen.Client, Config: chosen.Config, Seed: uint64(params.Seed),
		ContextSize: b.engine.Info().Limits.Positions, Sampling: newInForce(params, uses, completion.Ends{}).describe})
	if err != nil {
		return nil, useError(chosen, err)
	}
	return &written, nil
}

// CheckPrompt implements completion.Policies.
func (b *Builder) CheckPrompt(list []completion.PluginUse) error {
	for _, u := range list {
		m, err := b.registry.Find(u.Name)
		if err != nil {
			continue // NewPolicy reports it
		}
		template := m.IsTemplate()
		m.Release()
		if template {
			return completion.Invalid("plugins", "plugin %q is a template: it needs messages, and this request has a prompt", u.Name)
		}
	}
	return nil
}

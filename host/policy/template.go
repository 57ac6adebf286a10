// SPDX-License-Identifier: MIT

package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// Renders implements serving.Plugins.
func (r *uses) Renders() bool {
	return slices.ContainsFunc(r.list, func(u use) bool { return u.plugin.IsTemplate() || u.plugin.Rewrites() })
}

// Render implements serving.Plugins.
func (r *uses) Render(ctx context.Context, c serving.Conversing, messages []chat.Message) (text *string, err error) {
	var chosen *use
	for i := range r.list {
		u := &r.list[i]
		switch {
		case !u.plugin.IsTemplate():
		case chosen != nil:
			return nil, refusal.Invalid("plugins", "plugins %q and %q are both templates; a request can have one", chosen.Name, u.Name)
		default:
			chosen = u
		}
	}
	if chosen == nil {
		return nil, nil
	}
	data, err := c.Media.Marshal(messages)
	if err != nil {
		return nil, err
	}
	written, err := recording.Render(ctx, chosen.plugin, data, r.conversing(chosen, c))
	if err != nil {
		return nil, useError(chosen, err)
	}
	if _, _, err := c.Media.Text(written); err != nil {
		return nil, &refusal.Error{Kind: refusal.KindInvalid, Code: "plugin_failed", Field: chosen.Field, Message: fmt.Sprintf("plugin %s has written a prompt that cannot be used: %v", chosen.Name, err)}
	}
	return &written, nil
}

// conversing is what a plugin that has to do with a conversation is told of the request.
func (r *uses) conversing(u *use, c serving.Conversing) plugin.RequestInfo {
	return plugin.RequestInfo{
		Client: u.client, Config: u.Config, Seed: uint64(c.Params.Seed), Time: c.Time, ContextSize: r.engine.Info().Limits.Positions,
		Sampling: newInForce(c.Params, r.list, serving.Ends{}).describe,
		Media:    mediaOf(c.Media),
		PromptText: func(ctx context.Context, text []byte) (string, error) {
			messages, err := c.Media.Unmarshal(text)
			if err != nil {
				return "", fmt.Errorf("the text cannot be used: %w", err)
			}
			return c.Text(ctx, messages)
		},
	}
}

// mediaOf is what a plugin that has to do with a conversation is told of its pictures and sounds.
func mediaOf(g *chat.Gallery) []byte {
	if len(g.All()) == 0 {
		return nil
	}
	text, err := json.Marshal(g.All())
	if err != nil {
		panic(err) // texts and finite numbers
	}
	return text
}

// RefuseTemplates implements serving.Plugins. The operator's template may stand beside a prompt
// that is given.
func (r *uses) RefuseTemplates() error {
	for _, u := range r.list {
		switch {
		case !u.asked:
		case u.plugin.IsTemplate():
			return refusal.Invalid("plugins", "plugin %q is a template: it needs messages, and this request has a prompt", u.Name)
		case u.plugin.Rewrites() && u.plugin.Renders():
			return refusal.Invalid("plugins", "plugin %q rewrites messages: it needs some, and this request has a prompt", u.Name)
		}
	}
	return nil
}

// Rewrite implements serving.Plugins.
func (r *uses) Rewrite(ctx context.Context, c serving.Conversing, messages []chat.Message) ([]chat.Message, error) {
	for i := range r.list {
		u := &r.list[i]
		if !u.plugin.Rewrites() {
			continue
		}
		data, err := c.Media.Marshal(messages)
		if err != nil {
			return nil, err
		}
		var read []chat.Message
		if err := recording.Rewrite(ctx, u.plugin, data, r.conversing(u, c), func(text []byte) (err error) {
			if read, err = c.Media.Unmarshal(text); err != nil {
				err = fmt.Errorf("what was handed to emit cannot be used: %w", err)
			}
			return err
		}); err != nil {
			return nil, useError(u, err)
		}
		if read != nil {
			messages = read
		}
	}
	return messages, nil
}

// SPDX-License-Identifier: MIT

// Package policy builds the sampler chain and the stop rules of a request, and runs the plugin
// that writes its prompt.
//
// # Why is this a package of its own?
//
// What decides an answer is assembled from two sides: llama.cpp's samplers come from host/engine,
// plugins from host/plugin, and neither knows the other. host/policy puts both in the order that
// a request asks for, adds the operator's plugins, and turns what is wrong into errors of the
// API. Without it, package host would do this besides opening and closing the parts.
//
// # What happens when a default plugin faults?
//
// Its request fails, and the next request tries the plugin anew. It is never skipped or
// quarantined. It may enforce a policy, which would otherwise disappear without notice, and
// refusing it would refuse all requests. An operator who prefers to go on without it removes it
// from plugins.default.
package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/script"
)

// Builder builds policies of one model and the plugins of the server. It is a serving.PluginFinder.
type Builder struct {
	engine   *engine.Engine
	registry *registry.Registry
	model    *load.Model // the engine's
	defaults []string    // names of the operator's plugins, which every request uses
}

var _ serving.PluginFinder = (*Builder)(nil)

// New makes a builder. Every request uses the default plugins, whether it names them or not.
func New(e *engine.Engine, r *registry.Registry, m *load.Model, defaults []string) *Builder {
	return &Builder{engine: e, registry: r, model: m, defaults: defaults}
}

// use is a plugin that a request uses.
type use struct {
	serving.PluginUse
	client string // who asks; empty: the operator
	asked  bool   // the request has it in its list of plugins
	plugin *load.Plugin
}

// uses are the plugins of one request. They implement serving.Plugins.
type uses struct {
	*Builder
	list []use
}

// Resolve implements serving.PluginFinder. It finds the operator's plugins, those of the request,
// and those that only its chain names.
//
// The operator's plugins have no client, so no quarantine applies to them: every request tries
// them anew. If they were skipped, what the operator demands would be gone without a word. If they
// were refused, nothing would be served any more.
func (b *Builder) Resolve(ctx context.Context, client string, list []serving.PluginUse, chain []string) (serving.Plugins, error) {
	var all []use
	for _, name := range b.defaults {
		all = append(all, use{PluginUse: serving.PluginUse{Name: name, Field: "plugins"}})
	}
	for _, u := range list {
		if slices.Contains(b.defaults, u.Name) {
			if u.Brought() {
				return nil, refusal.Invalid(u.Field+".name", "%s is called %q, as a plugin that every request here uses; give it another name", u.Field, u.Name)
			}
			if err := checkDefault(u); err != nil {
				return nil, err
			}
			of := find(all, u.Name)
			of.SHA256, of.Field, of.asked = u.SHA256, u.Field, true
			continue
		}
		all = append(all, use{PluginUse: u, client: client, asked: true})
	}
	return b.found(ctx, client, all, chain)
}

// Again implements serving.Plugins.
func (r *uses) Again(ctx context.Context, client string, chain []string) (serving.Plugins, error) {
	return r.found(ctx, client, slices.Clone(r.list), chain)
}

// found finds and checks those plugins of a list that are not found yet, and those that only a
// chain names.
func (b *Builder) found(ctx context.Context, client string, list []use, chain []string) (_ serving.Plugins, err error) {
	for _, name := range chain {
		if name, ok := sampling.PluginNamed(name); ok && find(list, name) == nil {
			list = append(list, use{PluginUse: serving.PluginUse{Name: name, Field: "samplers"}, client: client})
		}
	}
	for i := range list {
		if err := b.take(ctx, &list[i]); err != nil {
			release(list[:i])
			return nil, err
		}
	}
	if err := checkPrograms(list); err != nil {
		release(list)
		return nil, err
	}
	return &uses{b, list}, nil
}

// checkPrograms refuses a second program: an answer has one that writes it.
func checkPrograms(list []use) error {
	var first *use
	for i := range list {
		u := &list[i]
		switch {
		case !u.plugin.IsProgram():
		case first != nil:
			return refusal.Invalid(u.Field, "%s has %q and %q, which both write the answer themselves; a request can have one such plugin", u.Field, first.Name, u.Name)
		default:
			first = u
		}
	}
	return nil
}

// Branches implements serving.Plugins.
func (r *uses) Branches() (n int) {
	for _, u := range r.list {
		n = max(n, u.plugin.Branches(u.Config))
	}
	return n
}

// take finds the plugin of a use, for it to release, checks what the request says of it, and has it
// plan for that.
func (b *Builder) take(ctx context.Context, u *use) (err error) {
	if u.plugin != nil {
		if u.plugin.Retain() {
			return nil
		}
		if u.plugin, u.Config, err = planned(ctx, u.plugin, u); err != nil { // what it had planned may be kept no longer
			return useError(u, err)
		}
		return nil
	}
	p, err := b.find(ctx, u)
	if err != nil {
		return useError(u, err)
	}
	if u.SHA256 != "" && u.SHA256 != p.SHA256 {
		err = refusal.Invalid(u.Field+".sha256", "%s.sha256 is %s; plugin %q of this server is %s: leave the field out, or have that version installed",
			u.Field, u.SHA256, u.Name, p.SHA256)
	} else if u.Config, err = p.CheckConfig(u.Config); err != nil {
		err = useError(u, err)
	} else if u.plugin, u.Config, err = planned(ctx, p, u); err != nil {
		err = useError(u, err)
	}
	p.Release()
	return err
}

// planned is a plugin as it is for a use, and the use's configuration with a script's defaults.
func planned(ctx context.Context, p *load.Plugin, u *use) (q *load.Plugin, config []byte, err error) {
	if config = u.Config; u.Source == "" {
		q, err = p.With(ctx, u.client, config)
	} else {
		q, config, err = p.WithScript(ctx, u.client, config)
	}
	var fault *plugin.Fault
	if u.Skip && errors.As(err, &fault) {
		q, err = p.Skipped(fault)
		config = u.Config
	}
	return q, config, err
}

// find finds the plugin of a use, for the caller to release. A module is its client's. Scripts are
// all run by the same plugin, which is not even loaded for who brings none, and may not be let to.
func (b *Builder) find(ctx context.Context, u *use) (*load.Plugin, error) {
	switch {
	case u.Module != "" && b.registry.Modules == nil:
		return nil, refusal.Unsupported(u.Field, "modules of clients are not supported by this server")
	case u.Module != "":
		return b.registry.Modules.FindFor(ctx, u.client, u.Module, b.model)
	case u.Source != "":
		return b.registry.FindFor(ctx, script.Name, b.model)
	case u.Name == script.Name:
		return nil, refusal.Invalid(u.Field, `%s names plugin %q, which runs a script that the request brings: put it into plugins, as {"script": …}`, u.Field, u.Name)
	}
	return b.registry.FindFor(ctx, u.Name, b.model)
}

// Release implements serving.Plugins.
func (r *uses) Release() { release(r.list) }

// checkDefault refuses to have one of the operator's plugins changed by a request.
func checkDefault(u serving.PluginUse) error {
	field, value := u.Field+".on_error", `"skip"`
	switch {
	case len(u.Config) > 0:
		field, value = u.Field+".config", excerpt.Of(string(u.Config), 80)
	case !u.Skip:
		return nil
	}
	return refusal.Invalid(field, "%s is %s; every request here uses plugin %q as the operator has set it up: leave the field out", field, value, u.Name)
}

func release(uses []use) {
	for _, u := range uses {
		u.plugin.Release()
	}
}

func find(uses []use, name string) *use {
	for i := range uses {
		if uses[i].Name == name {
			return &uses[i]
		}
	}
	return nil
}

// useError turns the reason why a plugin cannot be used into an error that names the field.
func useError(u *use, err error) error {
	var config *plugin.ConfigError
	var failed *plugin.ModelError
	var quarantine *plugin.QuarantineError
	var refused *plugin.Refusal
	if e := scriptError(u, err); e != nil {
		return e
	}
	switch {
	case errors.As(err, &refused) && refused.OfConfig():
		return &refusal.Error{Kind: refusal.KindInvalid, Code: "plugin_refused", Field: u.ConfigField(""), Message: refused.Told(), Public: refused.Error()}
	case errors.As(err, &config):
		return refusal.Invalid(u.ConfigField(config.Field), "plugin %s: %v", u.Name, config)
	case errors.As(err, &failed):
		return &refusal.Error{Kind: refusal.KindInvalid, Code: "plugin_failed", Field: u.Field, Message: plugin.Told(failed)}
	case errors.As(err, &quarantine):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "plugin_quarantined", Field: u.Field,
			Message: quarantine.Error(), Retry: quarantine.Seconds()}
	case errors.Is(err, plugin.ErrLoading):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "plugin_loading", Field: u.Field, Message: err.Error(), Retry: 2}
	case errors.Is(err, registry.ErrNoModule):
		return &refusal.Error{Kind: refusal.KindInvalid, Code: "module_not_found", Field: u.Field + ".module", Message: fmt.Sprintf("%s.module: %v", u.Field, err)}
	case errors.Is(err, plugin.ErrUnknown):
		return refusal.Invalid(u.Field, "%v", err)
	}
	return err
}

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
		Name: u.Name, Client: u.client, Config: u.Config, Seed: uint64(c.Params.Seed), Time: c.Time, ContextSize: r.engine.Info().Limits.Positions,
		Sampling: newInForce(c.Params, r.list, serving.AnswerInfo{}).describe,
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

// Used implements serving.Plugins.
func (r *uses) Used(chain []string) (list []serving.UsedPlugin, samplers []string) {
	for _, u := range r.list {
		list = append(list, serving.UsedPlugin{Name: u.Name, SHA256: u.plugin.SHA256, Config: u.Config, Own: u.client == ""})
	}
	return list, arrange(chain, r.list)
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

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
// attached.go has the plugins that the operator attaches to requests (docs/plugins/policies.md),
// plugins.go finds those of a request, and chain.go puts them into its chain.
//
// # What happens when a plugin that the operator has attached faults?
//
// Its request fails, and the next request tries the plugin anew. It is never skipped or
// quarantined. It may enforce a policy, which would otherwise disappear without notice, and
// refusing it would refuse all requests. An operator who prefers to go on without it takes it out
// of the configuration.
package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/script"
)

// Builder builds policies of one model and the plugins of the server. It is a serving.PluginFinder.
type Builder struct {
	engine   *engine.Engine
	registry *registry.Registry
	model    *load.Model // the engine's
	name     string      // of the model, for policies
	attached func() []Attached
}

var _ serving.PluginFinder = (*Builder)(nil)

// New makes a builder for the model of a name. Which plugins the operator attaches is asked for
// each request; nil: none.
func New(e *engine.Engine, r *registry.Registry, m *load.Model, name string, attached func() []Attached) *Builder {
	if attached == nil {
		attached = func() []Attached { return nil }
	}
	return &Builder{engine: e, registry: r, model: m, name: name, attached: attached}
}

// CheckAttached refuses policies of the model with plugins that cannot be used with it.
func (b *Builder) CheckAttached(ctx context.Context) error {
	for _, a := range b.attached() {
		if !includes(a.Models, b.name) {
			continue
		}
		p, err := b.registry.FindFor(ctx, a.Plugin, b.model)
		if err != nil {
			return fmt.Errorf("%s: %s", a.field, plugin.Told(err))
		}
		p.Release()
	}
	return nil
}

// use is a plugin that a request uses.
type use struct {
	serving.PluginUse
	client string    // who asks
	asked  bool      // the request has it in its list of plugins
	by     *Attached // by the operator; nil: by the request
	plugin *load.Plugin
	// messages is the conversation that a plugin got to rewrite which is to put something back into
	// the text of the answer; nil: there is none, or it filters nothing.
	messages []byte
}

// required reports whether the request cannot do without it.
func (u *use) required() bool { return u.by != nil && u.by.Required }

// planner is for whom it plans. What the operator has configured is planned once for all.
func (u *use) planner() string {
	if u.by != nil {
		return ""
	}
	return u.client
}

// uses are the plugins of one request. They implement serving.Plugins.
type uses struct {
	*Builder
	list []use
}

// attachedTo lists the plugins that the operator has attached to a request.
func (b *Builder) attachedTo(asker serving.Asker) (all []use) {
	attached := b.attached()
	for i := range attached {
		if a := &attached[i]; a.holds(b.name, asker) {
			all = append(all, use{PluginUse: serving.PluginUse{Name: a.Plugin, Config: a.Config, Field: "plugins"}, client: asker.Client, by: a})
		}
	}
	return all
}

// Resolve implements serving.PluginFinder. It finds the operator's plugins, those of the request,
// and those that only its chain names.
//
// No quarantine applies to the operator's plugins: every request tries them anew. If they were
// skipped, what the operator demands would be gone without a word. If they were refused, nothing
// would be served any more.
func (b *Builder) Resolve(ctx context.Context, asker serving.Asker, list []serving.PluginUse, chain []string) (serving.Plugins, error) {
	all := b.attachedTo(asker)
	for _, u := range list {
		of := find(all, u.Name)
		switch {
		case of == nil || of.by == nil:
		case u.Brought():
			return nil, refusal.Invalid(u.Field+".name", "%s is called %q, as a plugin that this server attaches to the request; give it another name", u.Field, u.Name)
		case of.required():
			if err := checkRequired(u); err != nil {
				return nil, err
			}
			of.SHA256, of.Field, of.asked = u.SHA256, u.Field, true
			continue
		default: // it is the request's to configure, or to do without
			all = slices.DeleteFunc(all, func(other use) bool { return other.Name == u.Name })
		}
		if !u.Off {
			all = append(all, use{PluginUse: u, client: asker.Client, asked: true})
		}
	}
	return b.findAll(ctx, asker.Client, all, chain)
}

// Again implements serving.Plugins for an answer that goes on: it has the operator's plugins as
// they were when it began. That must not be a way to go on without what the operator requires by
// now.
func (r *uses) Again(ctx context.Context, asker serving.Asker, chain []string) (serving.Plugins, error) {
	for _, u := range r.attachedTo(asker) {
		if !u.required() {
			continue
		}
		had := find(r.list, u.Name)
		same := had != nil && had.required() && had.by.sameAs(u.by)
		if same {
			now, err := r.find(ctx, &u)
			if err != nil {
				return nil, useError(&u, err)
			}
			same = now.SHA256 == had.plugin.SHA256
			now.Release()
		}
		if !same {
			return nil, &refusal.Error{Kind: refusal.KindConflict, Code: "policies_changed", Field: "plugins",
				Message: fmt.Sprintf("this server has come to require plugin %q, or another version or configuration of it, since the answer began: ask anew instead of going on from that answer", u.Name)}
		}
	}
	return r.findAll(ctx, asker.Client, slices.Clone(r.list), chain)
}

// findAll finds and checks those plugins of a list that are not found yet, and those that only a
// chain names.
func (b *Builder) findAll(ctx context.Context, client string, list []use, chain []string) (_ serving.Plugins, err error) {
	if err := checkPlaces(list, chain); err != nil {
		return nil, err
	}
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
	if err := cmp.Or(checkPrograms(list), checkTemplates(list), checkReaders(list)); err != nil {
		release(list)
		return nil, err
	}
	return &uses{b, list}, nil
}

// checkPlaces refuses a chain that names a plugin which the operator requires, and so places.
func checkPlaces(list []use, chain []string) error {
	for _, entry := range chain {
		if name, ok := sampling.PluginNamed(entry); ok {
			if u := find(list, name); u != nil && u.required() {
				return refusal.Invalid("samplers", "samplers has %s, which this server requires and gives its place: leave it out", entry)
			}
		}
	}
	return nil
}

// checkPrograms refuses a second program: an answer has one that writes it. What that writes no
// other plugin has chosen, so it does not go together with one that is required.
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
	for i := range list {
		if u := &list[i]; first != nil && u != first && u.required() {
			return refusal.Invalid(first.Field, "plugin %q writes the answer itself, past plugin %q, which this server requires here: leave %[1]q out", first.Name, u.Name)
		}
	}
	return nil
}

// checkTemplates refuses a template of the request's where a required plugin rewrites messages: it
// could write a prompt without them.
func checkTemplates(list []use) error {
	for i := range list {
		u := &list[i]
		if u.required() || !u.plugin.IsTemplate() {
			continue
		}
		if at := slices.IndexFunc(list, func(o use) bool { return o.required() && o.plugin.Rewrites() }); at >= 0 {
			return refusal.Invalid(u.Field, "plugin %q writes the prompt itself, past plugin %q, which this server requires to rewrite the messages: leave %[1]q out", u.Name, list[at].Name)
		}
	}
	return nil
}

// checkReaders refuses plugins of the request's where a required one has judged the answer: one
// that changes what is shown of it, and, where the required one filters that, one that can tell
// what it was before.
func checkReaders(list []use) error {
	for i := range list {
		u := &list[i]
		if u.by != nil || u.plugin.Renders() {
			continue
		}
		for j := range list {
			switch by := &list[j]; {
			case !by.required() || by.plugin.Renders():
			case u.plugin.Filters():
				return refusal.Invalid(u.Field, "plugin %q changes the text that is shown, after plugin %q, which this server requires here, has judged it: leave %[1]q out", u.Name, by.Name)
			case by.plugin.Filters() && (u.Brought() || u.plugin.Needs(abi.ImportOutput)):
				return refusal.Invalid(u.Field, "plugin %q could tell the answer as it was before plugin %q, which this server requires here, filtered it: leave %[1]q out", u.Name, by.Name)
			}
		}
	}
	return nil
}

// Filtering implements serving.Plugins.
func (r *uses) Filtering() string {
	for i := range r.list {
		if u := &r.list[i]; u.required() && u.plugin.Filters() {
			return u.Name
		}
	}
	return ""
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
		if u.plugin, u.Config, err = planUse(ctx, u.plugin, u); err != nil { // what it had planned may be kept no longer
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
	} else if u.plugin, u.Config, err = planUse(ctx, p, u); err != nil {
		err = useError(u, err)
	}
	p.Release()
	return err
}

// planUse plans a plugin for a use, and returns it with the use's configuration with a script's
// defaults.
func planUse(ctx context.Context, p *load.Plugin, u *use) (q *load.Plugin, config []byte, err error) {
	if config = u.Config; u.Source == "" {
		q, err = p.With(ctx, u.planner(), config)
	} else {
		q, config, err = p.WithScript(ctx, u.planner(), config)
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

// checkRequired refuses to have one of the operator's plugins changed by a request.
func checkRequired(u serving.PluginUse) error {
	field, value := u.Field+".on_error", `"skip"`
	switch {
	case u.Off:
		field, value = u.Field+".enabled", "false"
	case u.Ready:
		return refusal.Invalid(u.Field, "%s configures plugin %q, which every such request here uses as the operator has set it up: leave the field out", u.Field, u.Name)
	case len(u.Config) > 0: // which may have secrets
		field, value = u.Field+".config", "set"
	case !u.Skip:
		return nil
	}
	return refusal.Invalid(field, "%s is %s; every such request here uses plugin %q as the operator has set it up: leave the field out", field, value, u.Name)
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
	case u.by != nil && (errors.As(err, &config) || errors.As(err, &failed) || errors.Is(err, plugin.ErrUnknown) || errors.As(err, &refused) && refused.OfConfig()):
		return &refusal.Error{Kind: refusal.KindPluginFault, Code: "policy_unusable", Field: u.Field, // a reason could tell what is configured
			Message: fmt.Sprintf("plugin %q, which this server attaches to the request, cannot be used as it is set up here; the server's operator learns why from 'penstock doctor'", u.Name)}
	case errors.As(err, &refused) && refused.OfConfig():
		return &refusal.Error{Kind: refusal.KindInvalid, Code: refusal.PluginCode, Field: u.ConfigField(""), Message: refused.Told(), Public: refused.Error()}
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
		Name: u.Name, Client: u.client, Attached: u.by != nil, Config: u.Config, Seed: uint64(c.Params.Seed), Time: c.Time, ContextSize: r.engine.Info().Limits.Positions,
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
		list = append(list, serving.UsedPlugin{Name: u.Name, SHA256: u.plugin.SHA256, Config: u.Config, Own: u.by != nil})
	}
	return list, arrange(chain, r.list)
}

// RefuseTemplates implements serving.Plugins. A template that the operator attaches as a default
// may stand beside a prompt that is given.
func (r *uses) RefuseTemplates(field string, named bool) error {
	for _, u := range r.list {
		switch {
		case u.required() && (u.plugin.IsTemplate() || u.plugin.Rewrites()):
			return refusal.Invalid(field, "%s is not made of messages, which plugin %q, required by this server, has to see: send messages to a route for chats", field, u.Name)
		case !u.asked || !named:
		case u.plugin.IsTemplate():
			return refusal.Invalid("plugins", "plugin %q is a template: it needs messages, and this request has a prompt", u.Name)
		case u.plugin.Rewrites() && (u.plugin.Renders() || u.plugin.Filters()): // it would put nothing back
			return refusal.Invalid("plugins", "plugin %q rewrites messages: it needs some, and this request has a prompt", u.Name)
		}
	}
	return nil
}

// Rewrite implements serving.Plugins. What a required plugin has rewritten no other changes again.
func (r *uses) Rewrite(ctx context.Context, c serving.Conversing, messages []chat.Message) ([]chat.Message, error) {
	var rewriting, required []*use
	for i := range r.list {
		switch u := &r.list[i]; {
		case !u.plugin.Rewrites():
		case u.required():
			required = append(required, u)
		default:
			rewriting = append(rewriting, u)
		}
	}
	for _, u := range append(rewriting, required...) {
		data, err := c.Media.Marshal(messages)
		if err != nil {
			return nil, err
		}
		if u.plugin.Filters() {
			u.messages = data
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

// Plan implements serving.PluginFinder.
func (b *Builder) Plan(ctx context.Context, client string, asked serving.PluginUse) (serving.Plan, error) {
	u := use{PluginUse: asked, client: client}
	if err := b.take(ctx, &u); err != nil {
		return serving.Plan{}, err
	}
	defer u.plugin.Release()
	return planOf(u.plugin), nil
}

// planOf says what a plugin asks for.
func planOf(p *load.Plugin) serving.Plan {
	m := &p.Manifest
	plan := serving.Plan{Implements: slices.Clone(p.Exports), Needs: p.Needed(), View: string(m.View), Hold: m.Hold, TakeBack: m.TakeBack, Place: string(m.Place), Branches: m.Branches, Log: p.Module.PlanLog}
	plan.Implements = slices.DeleteFunc(plan.Implements, func(name string) bool { return slices.Contains(outsideRequests, name) })
	plan.Summary, plan.ConfigSchema = p.Asks()
	if m.View == load.ViewCandidates {
		plan.Candidates = m.Candidates
	}
	return plan
}

// outsideRequests are the exports that are called for no request.
var outsideRequests = []string{abi.ExportABIV1, abi.ExportInitialize, abi.ExportDescribe, abi.ExportWarm, abi.ExportPlan}

// scriptError is what is wrong with a script that a request brings, or with what it is given, for
// its client alone; nil: it is something else.
func scriptError(u *use, err error) error {
	var config *plugin.ConfigError
	var failed *plugin.ModelError
	var refused *plugin.Refusal
	var fault *plugin.Fault
	field, text := u.ConfigField(""), ""
	switch {
	case u.Source == "" || errors.As(err, &failed):
		return nil
	case errors.As(err, &config):
		field, text = u.ConfigField(config.Field), config.Message
	case errors.As(err, &refused):
		text = cmp.Or(refused.Message, "it is refused, without a reason")
	case errors.As(err, &fault) && !fault.Blameless():
		text = cmp.Or(fault.Said, fault.Error())
	default:
		return nil
	}
	e := &refusal.Error{Kind: refusal.KindInvalid, Code: refusal.ScriptCode, Field: field, Message: field + ": " + text, Public: field + ": the script cannot be used"}
	if at := place.FindStringSubmatch(text); at != nil {
		line, _ := strconv.Atoi(at[1]) // it is made of digits, and 0 is none
		column, _ := strconv.Atoi(at[2])
		e.Numbers = map[string]int{refusal.ScriptLine: line, refusal.ScriptColumn: column}
	}
	return e
}

// place is where the interpreter has found a mistake, as its messages say it.
var place = regexp.MustCompile(`\(script\.js:([0-9]{1,9})(?::([0-9]{1,9}))?\)`)

// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// maxPlugins bounds the plugins of a request.
const maxPlugins = 16

// pluginObject are the fields of an entry that is an object.
const pluginObject = "name, config, sha256 and on_error"

var hexSum = regexp.MustCompile("^[0-9a-f]{64}$")

// readUses reads plugins: a list of names, or of objects.
func readUses(raw json.RawMessage) ([]serving.PluginUse, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refusal.Invalid("plugins", "plugins must be a list of names, or of objects with "+pluginObject)
	}
	if len(items) > maxPlugins {
		return nil, refusal.Invalid("plugins", "plugins has %d entries; at most %d are allowed", len(items), maxPlugins)
	}
	uses := make([]serving.PluginUse, 0, len(items))
	for i, item := range items {
		field := fmt.Sprintf("plugins[%d]", i)
		use, err := readUse(item, field)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(uses, func(u serving.PluginUse) bool { return u.Name == use.Name }) {
			return nil, refusal.Invalid(field, "%s is %q, which is in the list already", field, use.Name)
		}
		uses = append(uses, use)
	}
	return uses, nil
}

func readUse(item json.RawMessage, field string) (serving.PluginUse, error) {
	use := serving.PluginUse{Field: field}
	if json.Unmarshal(item, &use.Name) == nil {
		return use, nil
	}
	var object struct {
		Name    string          `json:"name"`
		Config  json.RawMessage `json:"config"`
		SHA256  string          `json:"sha256"`
		OnError string          `json:"on_error"`
	}
	d := json.NewDecoder(bytes.NewReader(item))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return use, refusal.Invalid(field, "%s must be a name or an object with %s, and nothing else%s", field, pluginObject, unknownField(err))
	}
	switch object.OnError {
	case "", "fail":
	case "skip":
		use.Skip = true
	default:
		return use, refusal.Invalid(field+".on_error", `%s.on_error is %q; it must be "fail" or "skip"`, field, object.OnError)
	}
	if object.SHA256 != "" && !hexSum.MatchString(object.SHA256) {
		return use, refusal.Invalid(field+".sha256", "%s.sha256 is %q; it must be 64 hexadecimal digits in small letters, as GET /v1/plugins gives them", field, excerpt.Of(object.SHA256, 80))
	}
	use.Name, use.SHA256 = object.Name, object.SHA256
	if string(bytes.TrimSpace(object.Config)) != "null" {
		use.Config = object.Config
	}
	return use, nil
}

// unknownField names the field that a strict decoder does not know; "" after another error.
func unknownField(err error) string {
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return ""
	}
	return "; it has " + name
}

// discardPolicy closes a policy that has done nothing yet: no error of it matters.
func discardPolicy(p serving.Policy) { _ = p.Close() }

// pluginsOf resolves those of a request.
func pluginsOf(ctx context.Context, m *serving.Model, client string, uses []serving.PluginUse, chain []string) (serving.Plugins, error) {
	if m.Plugins != nil {
		return m.Plugins.Resolve(ctx, client, uses, chain)
	}
	if len(uses) > 0 {
		return nil, refusal.Unsupported("plugins", "plugins is not supported by this server")
	}
	return noPlugins{m.Engine}.Again(ctx, client, chain)
}

// noPlugins are those of a request to a server that has none: the model's own samplers decide.
type noPlugins struct{ engine serving.Engine }

func (n noPlugins) NewPolicy(p sampling.Params, _ serving.Ends) (serving.Policy, error) {
	stages, err := n.engine.NewChain(p)
	return serving.Policy{Stages: stages, Renew: n.engine.NewChain}, err
}

func (noPlugins) Branches() int { return 0 }

func (noPlugins) Renders() bool { return false }

func (noPlugins) Rewrite(_ context.Context, _ serving.Conversing, m []chat.Message) ([]chat.Message, error) {
	return m, nil
}

func (noPlugins) Render(context.Context, serving.Conversing, []chat.Message) (*string, error) {
	return nil, nil
}

func (n noPlugins) Again(_ context.Context, _ string, chain []string) (serving.Plugins, error) {
	if i := slices.IndexFunc(chain, namesPlugin); i >= 0 {
		return nil, refusal.Unsupported("samplers", "plugins in samplers are not supported by this server: %q", chain[i])
	}
	return n, nil
}

func (noPlugins) RefuseTemplates() error { return nil }
func (noPlugins) Release()               {}

// PluginOf is the plugin's name in that of a stage.
func PluginOf(stage string) string {
	if name, ok := sampling.PluginNamed(stage); ok {
		return name
	}
	return stage
}

func namesPlugin(entry string) bool {
	_, ok := sampling.PluginNamed(entry)
	return ok
}

// maxAdapters bounds the entries of a list.
const maxAdapters = 64

// ReadAdapterScales reads a list of objects with id or name, and scale, as llama-server's "lora"
// has them; field names it in errors.
func ReadAdapterScales(raw json.RawMessage, field string) ([]serving.AdapterScale, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refusal.Invalid(field, "%s must be a list of objects with id or name, and scale", field)
	}
	if len(items) > maxAdapters {
		return nil, refusal.Invalid(field, "%s has %d entries; at most %d are allowed", field, len(items), maxAdapters)
	}
	var scales []serving.AdapterScale
	for i, item := range items {
		s, err := readAdapterScale(item, field+"["+strconv.Itoa(i)+"]")
		if err != nil {
			return nil, err
		}
		for _, other := range scales {
			if other.ID == s.ID && other.Name == s.Name {
				return nil, refusal.Invalid(s.Field, "%s names an adapter that is in the list already", s.Field)
			}
		}
		scales = append(scales, s)
	}
	return scales, nil
}

func readAdapterScale(item json.RawMessage, field string) (serving.AdapterScale, error) {
	var object struct {
		ID    *int     `json:"id"`
		Name  *string  `json:"name"`
		Scale *float64 `json:"scale"`
	}
	s := serving.AdapterScale{ID: -1, Field: field}
	err := integer.UnmarshalKnown(item, &object)
	switch {
	case err != nil:
		return s, refusal.Invalid(field, "%s must be an object with id or name, and scale, and nothing else%s", field, unknownField(err))
	case (object.ID == nil) == (object.Name == nil):
		return s, refusal.Invalid(field, "%s must have either id or name", field)
	case object.Scale == nil:
		return s, refusal.Invalid(field+".scale", "%s.scale is missing: 1 is as the adapter was trained, 0 without it", field)
	case math.Abs(*object.Scale) > serving.MaxAdapterScale:
		return s, refusal.Invalid(field+".scale", "%s.scale is %v; it must be from %d to %d", field, *object.Scale, -serving.MaxAdapterScale, serving.MaxAdapterScale)
	}
	if s.Scale = float32(*object.Scale); object.ID != nil {
		s.ID = *object.ID
	} else if s.Name = *object.Name; s.Name == "" {
		return s, refusal.Invalid(field+".name", "%s.name is empty", field)
	}
	return s, nil
}

// usedAdapters are those that a prompt is computed with, from a position on.
type usedAdapters struct {
	set  scheduler.Adapters
	from int
}

// chooseAdapters finds what a prompt is computed with besides the model. A fork is computed with
// what the answer was.
func (p *Prompted) chooseAdapters(prompt []scheduler.Token) (used usedAdapters, err error) {
	switch {
	case p.begun.Tokens != nil:
		return p.forked, nil
	case p.Model.Adapters != nil:
		used.set, used.from, err = p.Model.Adapters.Choose(p.Adapters, prompt)
	case len(p.Adapters) > 0:
		err = refusal.Unsupported("lora", "lora is not supported by this server")
	}
	return used, err
}

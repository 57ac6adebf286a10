// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
)

// discardPolicy closes a policy that has done nothing yet: no error of it matters.
func discardPolicy(p serving.Policy) { _ = p.Close() }

// pluginsOf resolves those of a request.
func pluginsOf(m *serving.Model, client string, uses []serving.PluginUse, chain []string) (serving.Plugins, error) {
	if m.Plugins != nil {
		return m.Plugins.Resolve(client, uses, chain)
	}
	if len(uses) > 0 {
		return nil, refusal.Unsupported("plugins", "plugins is not supported by this server")
	}
	return noPlugins{m.Engine}.Again(client, chain)
}

// noPlugins are those of a request to a server that has none: the model's own samplers decide.
type noPlugins struct{ engine serving.Engine }

func (n noPlugins) NewPolicy(p sampling.Params, _ serving.Ends) (policy serving.Policy, err error) {
	policy.Stages, err = n.engine.NewChain(p)
	return policy, err
}

func (noPlugins) Branches() int { return 0 }

func (noPlugins) Renders() bool { return false }

func (noPlugins) Rewrite(_ context.Context, _ serving.Conversing, m []chat.Message) ([]chat.Message, error) {
	return m, nil
}

func (noPlugins) Render(context.Context, serving.Conversing, []chat.Message) (*string, error) {
	return nil, nil
}

func (n noPlugins) Again(_ string, chain []string) (serving.Plugins, error) {
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

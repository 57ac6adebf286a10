// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Policies lets plugins decide answers. Errors that are a client's to mend are *Error.
type Policies interface {
	// Resolve finds the plugins of a request, once: those that it uses, those that its chain names, and the operator's. Their
	// configuration is checked. client tells who asks. The caller releases them.
	Resolve(client string, uses []PluginUse, chain []string) (Plugins, error)
}

// Plugins are those of one request, in the versions that the server had when the request came, whatever is loaded meanwhile.
type Plugins interface {
	// NewPolicy builds the policy of one choice, of the samplers that its parameters name and of the plugins.
	NewPolicy(p sampling.Params, ends Ends) (Policy, error)
	// Renders reports whether a template is among the plugins.
	Renders() bool
	// Render lets the template among the plugins write a prompt's text for messages. It is nil if there is none. It ends with the context.
	Render(ctx context.Context, p sampling.Params, messages []chat.Message) (text *string, err error)
	// RefuseTemplates refuses those that the request names: it has a prompt and no messages.
	RefuseTemplates() error
	// Again are the same for another request, with those that its chain names besides.
	Again(client string, chain []string) (Plugins, error)
	// Release ends their use. Policies go on.
	Release()
}

// Ends is what ends an answer besides its policy. Plugins are told.
type Ends struct {
	MaxTokens int // 0: as many as fit
	Stops     []string
}

// Policy is what decides one answer: the stages that choose its tokens, and the rules that may end it.
type Policy struct {
	Stages []chain.Stage
	Rules  []answer.StopRule
	// Renew builds the stages anew for other parameters of the running answer. Its plugins go on: chain.Keep stands for them. Nil if there are none.
	Renew func(sampling.Params) ([]chain.Stage, error)
}

// Close frees a policy that no scheduler has taken.
func (p Policy) Close() error {
	var errs []error
	for _, s := range p.Stages {
		errs = append(errs, s.Close())
	}
	for _, r := range p.Rules {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// discard closes a policy that has done nothing yet: no error of it matters.
func (p Policy) discard() { _ = p.Close() }

// plugins resolves those of a request.
func (m *Model) plugins(client string, uses []PluginUse, chain []string) (Plugins, error) {
	if m.Policies != nil {
		return m.Policies.Resolve(client, uses, chain)
	}
	if len(uses) > 0 {
		return nil, Unsupported("plugins", "plugins is not supported by this server")
	}
	return noPlugins{m.Engine}.Again(client, chain)
}

// noPlugins are those of a request to a server that has none: the model's own samplers decide.
type noPlugins struct{ engine Engine }

func (n noPlugins) NewPolicy(p sampling.Params, _ Ends) (policy Policy, err error) {
	policy.Stages, err = n.engine.NewChain(p)
	return policy, err
}

func (noPlugins) Renders() bool { return false }

func (noPlugins) Render(context.Context, sampling.Params, []chat.Message) (*string, error) {
	return nil, nil
}

func (n noPlugins) Again(_ string, chain []string) (Plugins, error) {
	if i := slices.IndexFunc(chain, namesPlugin); i >= 0 {
		return nil, Unsupported("samplers", "plugins in samplers are not supported by this server: %q", chain[i])
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

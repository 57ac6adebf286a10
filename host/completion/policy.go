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
	// NewPolicy builds the policy of one choice of the samplers and plugins that its parameters and uses name, and of the
	// operator's. It is how every policy is built if there are plugins.
	NewPolicy(p sampling.Params, uses []PluginUse, ends Ends) (Policy, error)
	// Render lets the template plugin among the uses, or else the operator's, write a prompt's text for messages. It is nil
	// if there is none. It ends with the context.
	Render(ctx context.Context, p sampling.Params, uses []PluginUse, messages []chat.Message) (text *string, err error)
	// CheckPrompt refuses template plugins: the request has a prompt and no messages.
	CheckPrompt(uses []PluginUse) error
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

// newPolicy builds the policy of one choice.
func (r *Request) newPolicy(params sampling.Params) (p Policy, err error) {
	if r.Model.Policies != nil {
		p, err = r.Model.Policies.NewPolicy(params, r.ownUses(params.Chain), Ends{r.MaxTokens, r.Stops})
	} else {
		p.Stages, err = r.Model.Engine.NewChain(params)
	}
	return p, err
}

// ownUses are the plugins that a request names, those of its chain among them, as this client's.
func (r *Request) ownUses(chain []string) []PluginUse {
	uses := slices.Clone(r.Plugins)
	for _, entry := range chain {
		name, ok := sampling.PluginNamed(entry)
		if ok && !slices.ContainsFunc(uses, func(u PluginUse) bool { return u.Name == name }) {
			uses = append(uses, PluginUse{Name: name, Field: "samplers"})
		}
	}
	for i := range uses {
		uses[i].Client = r.Caller.ID
	}
	return uses
}

// RefuseTemplates is for requests whose prompt is given: a template plugin has nothing to do in them.
func (r *Request) RefuseTemplates() error {
	if r.Model.Policies == nil {
		return nil
	}
	return r.Model.Policies.CheckPrompt(r.Plugins)
}

// refusePlugins is for a server without plugins.
func refusePlugins(uses []PluginUse, chain []string) error {
	if len(uses) > 0 {
		return Unsupported("plugins", "plugins is not supported by this server")
	}
	if i := slices.IndexFunc(chain, namesPlugin); i >= 0 {
		return Unsupported("samplers", "plugins in samplers are not supported by this server: %q", chain[i])
	}
	return nil
}

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

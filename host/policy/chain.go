// SPDX-License-Identifier: MIT

package policy

import (
	"errors"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/host/sampling"
)

// NewPolicy implements completion.Policies.
func (b *Builder) NewPolicy(params sampling.Params, list []completion.PluginUse, maxTokens int) (completion.Policy, error) {
	uses, err := b.resolve(list, params.Chain)
	defer release(uses)
	if err != nil {
		return completion.Policy{}, err
	}
	params.Chain = arrange(params.Chain, uses)
	if err := checkViews(params.Chain, uses); err != nil {
		return completion.Policy{}, err
	}
	var policy completion.Policy
	index, setup := 0, &plugin.Setup{}
	links := engine.Links(params)
	if len(uses) > 0 {
		budget, err := b.engine.NewBudget(params)
		if err != nil {
			return completion.Policy{}, err
		}
		if budget != nil {
			policy.Stages = append(policy.Stages, budget)
		}
	}
	for _, link := range links {
		if link.Plugin == "" {
			stage, err := b.engine.NewStage(params, link)
			if err != nil {
				return completion.Policy{}, errors.Join(err, policy.Close())
			}
			policy.Stages = append(policy.Stages, stage)
			continue
		}
		u := find(uses, link.Plugin)
		stage, err := stage.New(u.plugin, plugin.Request{Client: u.Client, Config: u.Config, Seed: uint64(params.Seed), Index: index,
			Setup: setup, MaxTokens: maxTokens, ContextSize: b.engine.Info().Limits.Positions, Skip: u.Skip})
		if err != nil {
			return completion.Policy{}, errors.Join(useError(u, err), policy.Close())
		}
		index++
		policy.Stages = append(policy.Stages, stage)
		if rule := stage.Rule(); rule != nil {
			policy.Rules = append(policy.Rules, rule)
		}
	}
	return policy, nil
}

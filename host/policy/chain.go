// SPDX-License-Identifier: MIT

package policy

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// NewPolicy implements serving.Plugins.
func (r *uses) NewPolicy(params sampling.Params, about serving.AnswerInfo) (_ serving.Policy, err error) {
	inForce := newInForce(params, r.list, about)
	policy := serving.Policy{Renew: r.renewal(inForce)}
	index, setup := 0, &plugin.Setup{}
	policy.Stages, err = r.stages(params, r.list, func(u *use) (chain.Stage, error) {
		layer, err := r.stateLayer(u)
		if err != nil {
			return nil, err
		}
		if u.plugin.IsProgram() && about.Choice > 0 {
			index++
			return nil, nil // that of the first choice writes all
		}
		request := plugin.RequestInfo{Name: u.Name, Client: u.client, Attached: u.by != nil, Required: u.required(), Config: u.Config, Seed: uint64(params.Seed), Index: index,
			Setup: setup, MaxTokens: about.MaxTokens, Time: about.Time, Messages: u.messages, Choice: about.Choice, Choices: about.Choices, Parts: func() (plugin.Parts, error) { return about.Parts() }, Media: about.Media, ContextSize: r.engine.Info().Limits.Positions, StateLayer: layer, Skip: u.Skip, Sampling: inForce.describe}
		if u.plugin.IsProgram() {
			request.Chain, request.Prompt = r.chainsOf(about.Chain), about.Prompt
		}
		stage, err := stage.New(u.plugin, request)
		if err != nil {
			return nil, useError(u, err)
		}
		index++
		if rule := stage.Rule(); rule != nil {
			policy.Rules = append(policy.Rules, rule)
		}
		if filter := stage.Filter(); filter != nil {
			policy.Filters = append(policy.Filters, filter)
		}
		if u.plugin.IsProgram() {
			return programOf(stage, u, layer, &policy), nil
		}
		return stage, nil
	})
	if err != nil {
		return serving.Policy{}, err
	}
	return policy, nil
}

// stateLayer is the layer whose hidden states a plugin reads, as the scheduler counts. It refuses a
// plugin that reads some which the model does not give.
func (b *Builder) stateLayer(u *use) (int32, error) {
	info, asked := b.engine.Info(), u.plugin.Manifest.StateLayer
	layers, layer := info.Limits.StateLayers, asked
	if asked < 0 {
		layer = layers + 1 + asked
	}
	switch {
	case !u.plugin.WantsHiddenState():
		return 0, nil
	case info.Limits.HiddenState == 0:
		return 0, refusal.Invalid(u.Field, "plugin %s reads the model's hidden states; the model %s, of the architecture %q, gives none beside logits: use the plugin with another model",
			u.Name, info.Name, info.Architecture)
	case asked != 0 && layers == 0:
		return 0, refusal.Invalid(u.Field, "plugin %s reads the hidden states of layer %d; the model %s, of the architecture %q, gives those of the last layer alone: use the plugin with another model, or with state_layer 0",
			u.Name, asked, info.Name, info.Architecture)
	case asked != 0 && (layer < 1 || layer > layers):
		return 0, refusal.Invalid(u.Field, "plugin %s reads the hidden states of layer %d; the model %s has %d layers: state_layer must be from -%d to %d", u.Name, asked, info.Name, layers, layers, layers)
	}
	return int32(layer), nil
}

// programOf makes a plugin that is a program the policy's, and its stage.
func programOf(s *stage.Stage, u *use, layer int32, policy *serving.Policy) chain.Stage {
	p := stage.Program{Stage: s}
	policy.Program = &program.Program{Name: p.Traits().Name, Main: p.Main, Branches: u.plugin.Branches(u.Config), HiddenStates: u.plugin.WantsHiddenState(), StateLayer: layer}
	return p
}

// chainsOf is plugin.RequestInfo.Chain: chains of the engine's samplers, without the plugins that
// stand in the request's.
func (r *uses) chainsOf(parameters func(context.Context, []byte) (sampling.Params, error)) func(context.Context, []byte) (func(uint32) ([]chain.Stage, error), error) {
	isPlugin := func(entry string) bool {
		_, is := sampling.PluginNamed(entry)
		return is
	}
	return func(ctx context.Context, text []byte) (func(uint32) ([]chain.Stage, error), error) {
		params, err := parameters(ctx, text)
		if err != nil {
			return nil, err
		}
		params.Chain = slices.DeleteFunc(slices.Clone(params.Chain), isPlugin)
		build := func(seed uint32) ([]chain.Stage, error) {
			p := params
			p.Seed = seed % math.MaxUint32 // which llama.cpp takes as "random"
			return r.engine.NewChain(p)
		}
		if len(text) == 0 {
			return build, nil
		}
		stages, err := build(0) // what is wrong is told at once
		chain.Close(stages)
		return build, err
	}
}

// renewal builds the stages of a running answer anew, around its plugins. Which versions those are
// was decided when it began, and so was where they stand if its parameters do not say.
func (r *uses) renewal(inForce *inForce) func(sampling.Params) ([]chain.Stage, error) {
	return func(params sampling.Params) ([]chain.Stage, error) {
		if err := checkPlaces(r.list, params.Chain); err != nil {
			return nil, err
		}
		for _, entry := range params.Chain {
			if name, ok := sampling.PluginNamed(entry); ok && find(r.list, name) == nil {
				return nil, refusal.Invalid("samplers", "samplers has %s; no plugin can be added to an answer that has begun", entry)
			}
		}
		return r.stages(params, r.list, func(u *use) (chain.Stage, error) {
			return chain.Keep(sampling.PluginEntry(u.Name), func() { inForce.set(params) }), nil
		})
	}
}

// stages builds the stages of a chain in their order: native ones, and those of the plugins as
// newPlugin makes them; nil: it has none.
func (b *Builder) stages(params sampling.Params, uses []use, newPlugin func(*use) (chain.Stage, error)) (stages []chain.Stage, err error) {
	params.Chain = arrange(params.Chain, uses)
	if err := checkViews(params.Chain, uses); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			chain.Close(stages)
			stages = nil
		}
	}()
	if len(uses) > 0 {
		budget, err := b.engine.NewBudget(params)
		if err != nil {
			return stages, err
		}
		if budget != nil {
			stages = append(stages, budget)
		}
	}
	for _, link := range engine.Links(params) {
		var stage chain.Stage
		if link.Plugin == "" {
			stage, err = b.engine.NewStage(params, link)
		} else {
			stage, err = newPlugin(find(uses, link.Plugin))
		}
		if err != nil {
			return stages, err
		}
		if stage != nil {
			stages = append(stages, stage)
		}
	}
	return stages, nil
}

// arrange puts the plugins that a chain does not name where their manifests or the operator say:
// the operator's outside the request's. A plugin that is a template and nothing else has no place
// in the chain.
func arrange(chain []string, uses []use) []string {
	var before, first, last, after []string
	for _, u := range uses {
		entry := sampling.PluginEntry(u.Name)
		atEnd := u.plugin.Manifest.Place == load.PlaceLast
		if u.by != nil && u.by.Place != "" {
			atEnd = u.by.Place == placeAfter
		}
		switch {
		case slices.Contains(chain, entry), u.plugin.Renders():
		case atEnd && u.by != nil:
			after = append(after, entry)
		case atEnd:
			last = append(last, entry)
		case u.by != nil:
			before = append(before, entry)
		default:
			first = append(first, entry)
		}
	}
	return slices.Concat(before, first, chain, last, after)
}

// checkViews refuses a plugin that needs all logits if a stage before it drops some, and a plugin
// that is named twice.
func checkViews(chain []string, uses []use) error {
	narrowed := ""
	for i, entry := range chain {
		name, isPlugin := sampling.PluginNamed(entry)
		if !isPlugin {
			if s, err := sampling.SamplerNamed(entry); err == nil && s.Narrows {
				narrowed = entry
			}
			continue
		}
		view := find(uses, name).plugin.Manifest.View
		switch {
		case slices.Contains(chain[:i], entry):
			return refusal.Invalid("samplers", "samplers has %s twice; a plugin stands in one place", entry)
		case view == load.ViewLogits && narrowed != "":
			return refusal.Invalid("samplers", "%s sees all logits, so it must stand before %s, which drops some", entry, narrowed)
		case view == load.ViewCandidates:
			narrowed = entry
		}
	}
	return nil
}

// inForce is what plugins learn about the sampling parameters of their answer: those that are in
// force when they ask. It is safe for concurrent use.
type inForce struct {
	uses  []use
	about serving.AnswerInfo
	text  atomic.Pointer[func() []byte]
}

func newInForce(params sampling.Params, uses []use, about serving.AnswerInfo) *inForce {
	f := &inForce{uses: uses, about: about}
	f.set(params)
	return f
}

// set has other parameters be in force. They are described when a plugin asks, and once.
func (f *inForce) set(params sampling.Params) {
	params.Chain = arrange(params.Chain, f.uses)
	text := sync.OnceValue(func() []byte {
		stop := f.about.Stops
		if stop == nil {
			stop = []string{}
		}
		text, err := params.Describe(map[string]any{"max_tokens": f.about.MaxTokens, "stop": stop})
		if err != nil {
			panic(err) // checked numbers and texts
		}
		return text
	})
	f.text.Store(&text)
}

// describe is plugin.RequestInfo.Sampling.
func (f *inForce) describe() []byte { return (*f.text.Load())() }

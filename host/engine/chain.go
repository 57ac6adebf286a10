// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// kinds are the native samplers by their names in package sampling, without those that choose a
// token.
var kinds = map[string]native.SamplerKind{
	"penalties": native.Penalties, "dry": native.DRY, "top_n_sigma": native.TopNSigma, "top_k": native.TopK, "typ_p": native.Typical,
	"top_p": native.TopP, "min_p": native.MinP, "xtc": native.XTC, "temperature": native.Temperature, "infill": native.Infill,
}

// Link is one stage of a chain: a plugin, or a run of llama.cpp's samplers that becomes one stage.
type Link struct {
	Plugin string   // name of the plugin; "" for a run of natives
	Names  []string // the samplers of a run, in order
	First  bool     // the run begins the chain: it applies the biases
	Last   bool     // the run ends the chain: it chooses the token, under the grammar
}

// Links cuts p.Chain into stages. The last is always a native run, which chooses a token if no
// plugin has. For a trace each native sampler is a run of its own, if they can be separated.
func Links(p sampling.Params) []Link {
	part := p.Trace && separable(p)
	var links []Link
	run := Link{First: true}
	flush := func() {
		if len(run.Names) > 0 || (run.First && (len(p.LogitBias) > 0 || p.IgnoreEOS)) {
			links = append(links, run)
		}
		run = Link{}
	}
	if part {
		flush() // the biases
	}
	for _, name := range p.Chain {
		if plugin, ok := sampling.PluginNamed(name); ok {
			flush()
			links = append(links, Link{Plugin: plugin})
			continue
		}
		if selects(name) {
			continue // it chooses at the end, wherever it stands
		}
		run.Names = append(run.Names, name)
		if part {
			flush()
		}
	}
	run.Last = true
	return append(links, run)
}

// separable reports whether a run draws the same token if its samplers run one by one. Under a
// grammar the chain may have to run twice, and infill must know that top_k came before it.
func separable(p sampling.Params) bool {
	return !p.IsSet() && !slices.Contains(p.Chain, "infill")
}

// NewChain builds the stages of a chain without plugins: one. sampling.ErrInvalid means that p is
// at fault; the message names the field.
func (e *Engine) NewChain(p sampling.Params) ([]chain.Stage, error) {
	links := Links(p)
	for _, l := range links {
		if l.Plugin != "" {
			return nil, fmt.Errorf("%w: samplers has plugin:%s, which the engine does not run", sampling.ErrInvalid, l.Plugin)
		}
	}
	stage, err := e.NewStage(p, Link{Names: links[len(links)-1].Names, First: true, Last: true})
	if err != nil {
		return nil, err
	}
	return []chain.Stage{stage}, nil
}

// NewStage builds one native link of a chain.
func (e *Engine) NewStage(p sampling.Params, l Link) (*Stage, error) {
	o := e.options(p)
	var err error
	if o.Chain, err = chainOf(p, l); err != nil {
		return nil, err
	}
	o.Select = selectorOf(p, l)
	if l.First {
		e.addBias(&o, p)
	}
	stage := &Stage{wholeChain: l.First && l.Last}
	if l.Last {
		if err := e.constrain(stage, p); err != nil {
			stage.rules.release()
			return nil, err
		}
	}
	if stage.sampler, err = native.NewSampler(e.model, o); err != nil {
		stage.rules.release()
		return nil, asInvalid(err)
	}
	stage.name = nameOf(l, o, stage.rules != nil)
	stage.slow = stage.lazy != nil && stage.lazy.slow
	if len(o.Chain) == 0 && !l.Last {
		for i, token := range o.BiasTokens {
			stage.biases = append(stage.biases, chain.Bias{Token: token, Value: o.BiasValues[i]})
		}
	}
	return stage, nil
}

// constrain adds to the end of a chain what the answer must look like, and what is known of its
// thinking.
func (e *Engine) constrain(s *Stage, p sampling.Params) (err error) {
	if p.IsSet() {
		if err := e.follow(s, p); err != nil {
			return err
		}
	}
	s.thinking, err = e.newThinking(p)
	return err
}

// follow gives a stage the grammar of what the answer must look like.
func (e *Engine) follow(s *Stage, p sampling.Params) error {
	c, err := e.Prepare(context.Background(), p)
	if err != nil {
		return err
	}
	made := c.Ready.(*ready)
	defer func() {
		if s.rules == nil {
			made.Release()
		}
	}()
	var prefix []scheduler.Token
	switch {
	case p.GrammarLazy:
		s.lazy = e.newLazy(made.triggers)
	case p.GrammarOfFormat || p.Format != nil || len(p.JSONSchema) > 0:
		prefix, err = e.generationPrompt(p.GenerationPrompt)
	}
	if err != nil {
		return err
	}
	if s.rules, err = e.newFollowing(made.grammar, prefix); err != nil {
		return sampling.Refused(p.Field(), "%s cannot be used: %v", p.Field(), err)
	}
	s.rules.brief = p.Format != nil && p.Format.OneCall
	whole := p.Format.Whole()
	if p.Room > 0 && (p.Complete || whole) {
		err = s.rules.keepWithin(p.Room, p.GrammarLazy)
	}
	if whole && !p.Complete {
		return nil // where there is no room for all, as much of it comes as there is
	}
	return err
}

// nameOf lists what a link does, in order.
func nameOf(l Link, o native.SamplerOptions, grammar bool) string {
	var names []string
	if len(o.BiasTokens) > 0 {
		names = append(names, "logit_bias")
	}
	names = append(names, l.Names...)
	if grammar {
		names = append(names, "grammar")
	}
	if selector, ok := selectors[o.Select]; ok {
		names = append(names, selector)
	}
	return strings.Join(names, ", ")
}

// selectors are the names of what chooses at the end of a chain.
var selectors = map[native.Selector]string{
	native.SelectDist: "dist", native.SelectGreedy: "greedy", native.SelectMirostat: "mirostat", native.SelectMirostatV2: "mirostat_v2", native.SelectAdaptive: "adaptive_p",
}

// chainOf maps the samplers of a link to native ones. Mirostat replaces all truncation.
func chainOf(p sampling.Params, l Link) ([]native.SamplerKind, error) {
	chain := make([]native.SamplerKind, 0, len(l.Names))
	for _, name := range l.Names {
		sampler, err := sampling.SamplerNamed(name)
		if err != nil {
			return nil, err
		}
		kind, ok := kinds[sampler.Name]
		if ok && (p.Mirostat == 0 || kind == native.Penalties || kind == native.DRY || kind == native.Temperature) {
			chain = append(chain, kind)
		}
	}
	return chain, nil
}

// selectorOf tells what chooses the token at the end of a link.
func selectorOf(p sampling.Params, l Link) native.Selector {
	switch {
	case !l.Last:
		return native.SelectNone
	case p.Mirostat == 1:
		return native.SelectMirostat
	case p.Mirostat != 0:
		return native.SelectMirostatV2
	case slices.ContainsFunc(p.Chain, selects):
		return native.SelectAdaptive
	case p.Temperature <= 0: // also where the chain leaves temperature out
		return native.SelectGreedy
	}
	return native.SelectDist
}

// selects reports whether an entry of a chain names a sampler that chooses the token at the end.
func selects(entry string) bool {
	sampler, err := sampling.SamplerNamed(entry)
	return err == nil && sampler.Selects
}

// options are what native needs of p, whatever the link.
func (e *Engine) options(p sampling.Params) native.SamplerOptions {
	cells := e.info.Limits.Cells
	lookBack := func(n int) int { // negative: the whole context, as llama.cpp's server has it
		if n < 0 {
			return cells
		}
		return min(n, cells)
	}
	numbers := native.SamplerNumbers(p.Numbers)
	numbers.RepeatLastN, numbers.DryPenaltyLastN = lookBack(p.RepeatLastN), lookBack(p.DryPenaltyLastN)
	return native.SamplerOptions{Seed: p.Seed, SamplerNumbers: numbers, DryBreakers: p.DrySequenceBreakers}
}

// addBias puts the request's biases in token order, so that equal requests build equal chains.
func (e *Engine) addBias(o *native.SamplerOptions, p sampling.Params) {
	for _, token := range slices.Sorted(maps.Keys(p.LogitBias)) {
		o.BiasTokens = append(o.BiasTokens, token)
		o.BiasValues = append(o.BiasValues, p.LogitBias[token])
	}
	if p.IgnoreEOS {
		for _, token := range e.backend.ends {
			o.BiasTokens = append(o.BiasTokens, token)
			o.BiasValues = append(o.BiasValues, banned)
		}
	}
}

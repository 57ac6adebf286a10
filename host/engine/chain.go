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

// Stage is a run of llama.cpp's samplers with its state for one answer.
type Stage struct {
	sampler *native.Sampler
	name    string // lists what it does, for traces
	view    native.Candidates

	wholeChain bool         // SampleRows can run it
	rules      *following   // of the grammar; nil: there is none
	slow       bool         // a token takes long before the grammar wakes
	first      int32        // the token that the samplers have chosen, while undecided
	undecided  bool         // whether that one fits takes long to tell
	lazy       *lazy        // when the grammar begins; nil: with the answer
	thinking   *thinking    // nil: unknown, or of no interest
	biases     []chain.Bias // if it does nothing else; llama.cpp would copy the whole row to change a few logits
}

var (
	_ chain.Stage    = (*Stage)(nil)
	_ chain.RowTaker = (*Stage)(nil)
	_ chain.Preparer = (*Stage)(nil)
	_ chain.Foreseer = (*Stage)(nil)
	_ chain.Guard    = (*Stage)(nil)
)

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
	if p.Limit > 0 && (p.Complete || whole) {
		err = s.rules.keepWithin(p.Limit, p.GrammarLazy)
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

// Traits implements chain.Stage. Samplers that begin by narrowing the row take it. Under a grammar
// they may have to look at it again: where that forbids all candidates, they choose from the row.
func (s *Stage) Traits() chain.Traits {
	free := s.rules == nil
	return chain.Traits{Name: s.name, Guards: !free, Prepares: !free, Foresees: !free, TakesRow: free && len(s.biases) == 0, IgnoresRow: free}
}

// Native implements chain.Stage.
func (s *Stage) Native() bool { return s.wholeChain && !s.slow && !s.rules.isSlow() }

// Prepare implements chain.Preparer. It asks for nothing: it makes the mask of an answer whose
// masks take long, which may be needed.
func (s *Stage) Prepare() (chain.Prepared, error) {
	if s.rules.guards() && s.rules.isSlow() {
		return chain.Prepared{}, asChainError(s.rules.prepare())
	}
	return chain.Prepared{}, nil
}

// Apply implements chain.Stage. A whole chain chooses as it does in SampleRows.
func (s *Stage) Apply(v *chain.View) (err error) {
	defer s.rules.drawn()
	if s.wholeChain && v.N < 0 && v.Row != nil {
		v.Chosen, err = s.sample(v.Row)
		return err
	}
	if t, forced := s.forced(); forced {
		v.Chosen = t
		return nil
	}
	if len(s.biases) > 0 && v.N < 0 {
		for _, b := range s.biases {
			v.Row[b.Token] += b.Value
		}
		return nil
	}
	s.view = native.Candidates{Row: v.Row, ID: v.ID, Logit: v.Logit, N: v.N, Chosen: v.Chosen}
	err = s.sampler.Apply(&s.view)
	if t := s.view.Chosen; err == nil && t >= 0 && s.rules.guards() {
		if fits, failed := s.rules.allows(t); failed != nil {
			err = failed
		} else if !fits {
			s.view.Chosen, err = s.redrawAmong(v)
		}
	} else if t >= 0 && err == nil && v.Row != nil {
		s.view.Chosen, err = s.avoidWaking(v.Row, t)
	}
	v.Row, v.ID, v.Logit, v.N, v.Chosen = s.view.Row, s.view.ID, s.view.Logit, s.view.N, s.view.Chosen
	s.view = native.Candidates{}
	return asChainError(err)
}

// TakeRow implements chain.RowTaker.
func (s *Stage) TakeRow(row chain.WholeRow) bool {
	taken, err := s.sampler.TakeRow(row.Logits())
	return err == nil && taken // Apply will have the same error
}

// Accept implements chain.Stage.
func (s *Stage) Accept(t scheduler.Token) (chain.Effect, error) {
	if isRow(t) {
		return s.ended(), nil
	}
	var err error
	if s.lazy != nil || s.thinking != nil {
		err = s.follow(t)
	} else {
		err = s.accept(t)
	}
	if err != nil {
		return chain.Effect{}, asChainError(err)
	}
	return s.ended(), nil
}

// accept tells the samplers of a token, and the grammar unless it rests.
func (s *Stage) accept(t scheduler.Token) error {
	s.rules.wrote(1)
	if s.rules.guards() {
		if err := s.rules.accept([]scheduler.Token{t}, 0); err != nil {
			return err
		}
	}
	return s.sampler.Accept(t)
}

// rewind makes history the accepted tokens. The grammar does not see the prompt.
func (s *Stage) rewind(history []scheduler.Token, prompt int) error {
	s.rules.reset()
	s.undecided = false
	s.rules.wrote(len(history) - prompt)
	if s.rules.guards() {
		if err := s.rules.accept(history[prompt:], 0); err != nil {
			return err
		}
	}
	return s.sampler.Rewind(history, prompt)
}

// Reset implements chain.Stage.
func (s *Stage) Reset(history []scheduler.Token, prompt int) error {
	history, prompt = spoken(history, prompt)
	if s.lazy != nil || s.thinking != nil {
		return asChainError(s.replay(history, prompt))
	}
	return asChainError(s.rewind(history, prompt))
}

// Close implements chain.Stage.
func (s *Stage) Close() error {
	s.rules.release()
	return s.sampler.Close()
}

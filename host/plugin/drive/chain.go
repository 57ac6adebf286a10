// SPDX-License-Identifier: MIT

package drive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// parameters are the parameters of a chain that draws from a made-up model.
type parameters struct {
	Temperature float32  `json:"temperature"`
	TopK        int      `json:"top_k"` // 0 or less: off
	TopP        float32  `json:"top_p"`
	MinP        float32  `json:"min_p"`
	Samplers    []string `json:"samplers"` // others than these four do nothing
}

// Chains makes the chains of a program as plugin.RequestInfo.Chain does, in Go, from the parameters
// temperature, top_k, top_p, min_p and samplers. asked has the request's parameters as JSON; others
// are ignored.
func Chains(asked []byte) func(ctx context.Context, changes []byte) (func(seed uint32) ([]chain.Stage, error), error) {
	return func(_ context.Context, changes []byte) (func(seed uint32) ([]chain.Stage, error), error) {
		d := sampling.Default()
		p := parameters{d.Temperature, d.TopK, d.TopP, d.MinP, d.Chain}
		if err := json.Unmarshal(asked, &p); len(asked) > 0 && err != nil {
			return nil, fmt.Errorf("sampling: %w", err)
		}
		strict := json.NewDecoder(bytes.NewReader(changes))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&p); len(changes) > 0 && err != nil {
			return nil, fmt.Errorf("%w; a chain that draws from a made-up model has temperature, top_k, top_p, min_p and samplers", err)
		}
		if p.Temperature < 0 || p.TopP < 0 || p.TopP > 1 || p.MinP < 0 || p.MinP > 1 {
			return nil, fmt.Errorf("temperature is %v, top_p %v and min_p %v; a temperature is at least 0, the others are from 0 to 1", p.Temperature, p.TopP, p.MinP)
		}
		return oneStageChains(p.drawToken), nil
	}
}

// oneStageChains makes chains of one stage, which draws.
func oneStageChains(draw func(*chain.View, *rand.Rand) error) func(seed uint32) ([]chain.Stage, error) {
	return func(seed uint32) ([]chain.Stage, error) {
		return []chain.Stage{&sampler{draw, rand.New(rand.NewPCG(uint64(seed), 2))}}, nil
	}
}

// drawToken draws a token as the parameters say.
func (p *parameters) drawToken(v *chain.View, random *rand.Rand) error {
	var ids []scheduler.Token
	for t, l := range v.Row {
		if l > Banned {
			ids = append(ids, scheduler.Token(t))
		}
	}
	if len(ids) == 0 {
		return chain.ErrNoToken
	}
	slices.SortStableFunc(ids, func(a, b scheduler.Token) int { return cmp.Compare(v.Row[b], v.Row[a]) })
	temperature := 1.0
	for _, name := range p.Samplers {
		n := len(ids)
		switch {
		case name == "temperature" && p.Temperature == 0:
			n = 1
		case name == "temperature":
			temperature *= float64(p.Temperature)
		case name == "top_k" && p.TopK > 0:
			n = min(n, p.TopK)
		case name == "top_p" && p.TopP < 1:
			weights, sum := weighTokens(v.Row, ids, temperature)
			kept := 0.0
			for n = 0; n < len(ids) && (n == 0 || kept < float64(p.TopP)*sum); n++ {
				kept += weights[n]
			}
		case name == "min_p":
			weights, _ := weighTokens(v.Row, ids, temperature)
			for n > 1 && weights[n-1] < float64(p.MinP) {
				n--
			}
		}
		ids = ids[:n]
	}
	weights, sum := weighTokens(v.Row, ids, temperature)
	v.Chosen = ids[len(ids)-1]
	at := random.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			v.Chosen = ids[i]
			break
		}
	}
	return nil
}

// weighTokens returns the probabilities of tokens relative to the first, which is the likeliest,
// and their sum.
func weighTokens(row []float32, ids []scheduler.Token, temperature float64) (weights []float64, sum float64) {
	for _, t := range ids {
		w := math.Exp((float64(row[t]) - float64(row[ids[0]])) / temperature)
		weights, sum = append(weights, w), sum+w
	}
	return weights, sum
}

// sampler is the one stage of a chain.
type sampler struct {
	draw   func(v *chain.View, random *rand.Rand) error
	random *rand.Rand
}

// Traits implements chain.Stage.
func (*sampler) Traits() chain.Traits { return chain.Traits{Name: "dist"} }

// Native implements chain.Stage.
func (*sampler) Native() bool { return false }

// Apply implements chain.Stage.
func (s *sampler) Apply(v *chain.View) error { return s.draw(v, s.random) }

// Accept implements chain.Stage.
func (*sampler) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// Reset implements chain.Stage.
func (*sampler) Reset([]scheduler.Token, int) error { return nil }

// Close implements chain.Stage.
func (*sampler) Close() error { return nil }

// Grammars is a made-up grammar engine for a vocabulary: every text except the empty one is a
// grammar, which allows the odd or the even tokens.
type Grammars struct{ Words *Words }

// Open implements plugin.Grammars.
func (e Grammars) Open(_ context.Context, _ string, _ int32, text string) (plugin.Grammar, uint64, error) {
	if text == "" {
		return nil, 0, errors.New("the text is empty")
	}
	return &grammar{words: e.Words}, 0, nil
}

// grammar allows odd tokens at an odd place and even ones at an even place. The tokens so far
// determine the place.
type grammar struct {
	words *Words
	place int32
}

func (g *grammar) allows(token int32) bool { return token%2 == g.place%2 }

// Mask implements plugin.Grammar.
func (g *grammar) Mask(mask []uint32) error {
	clear(mask)
	for t := range int32(g.words.Size()) {
		if g.allows(t) {
			mask[t/32] |= 1 << (t % 32)
		}
	}
	return nil
}

// MaskWithin implements plugin.Grammar: the text is never long.
func (g *grammar) MaskWithin(tokens int, mask []uint32) (bool, error) {
	if tokens < 1 {
		clear(mask)
		return false, nil
	}
	return true, g.Mask(mask)
}

// Rest implements plugin.Grammar: any token completes the text.
func (*grammar) Rest() (tokens int, ended bool, err error) { return 1, false, nil }

// Accept implements plugin.Grammar.
func (g *grammar) Accept(token int32) bool {
	if !g.allows(token) {
		return false
	}
	g.place += 1 + token/2
	return true
}

// Beginning implements plugin.Grammar.
func (g *grammar) Beginning() program.GrammarState { return state{words: g.words} }

// Close implements plugin.Grammar.
func (*grammar) Close() error { return nil }

// state is the state of a branch in a grammar.
type state grammar

// Mask implements program.GrammarState.
func (s state) Mask(mask []uint32) error { return (*grammar)(&s).Mask(mask) }

// After implements program.GrammarState.
func (s state) After(t program.Token) (program.GrammarState, bool) {
	fits := (*grammar)(&s).Accept(t)
	return s, fits
}

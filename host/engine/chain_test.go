// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

func TestLinks_Cut(t *testing.T) {
	for name, c := range map[string]struct {
		chain []string
		bias  bool
		want  []Link
	}{
		"natives":       {[]string{"top_k", "temp"}, false, []Link{{Names: []string{"top_k", "temp"}, First: true, Last: true}}},
		"none":          {nil, false, []Link{{First: true, Last: true}}},
		"plugin inside": {[]string{"top_k", "plugin:a", "temp"}, false, []Link{{Names: []string{"top_k"}, First: true}, {Plugin: "a"}, {Names: []string{"temp"}, Last: true}}},
		"plugins alone": {[]string{"plugin:a", "plugin:b"}, false, []Link{{Plugin: "a"}, {Plugin: "b"}, {Last: true}}},
		"bias first":    {[]string{"plugin:a"}, true, []Link{{First: true}, {Plugin: "a"}, {Last: true}}},
	} {
		p := sampling.Params{Plain: sampling.Plain{Chain: c.chain}}
		if c.bias {
			p.LogitBias = map[int32]float32{1: 1}
		}
		if diff := cmp.Diff(c.want, Links(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEngine_NewChain_BadParameters(t *testing.T) {
	e := opened(t, Options{})
	for name, change := range map[string]func(p *sampling.Params){
		"samplers":          func(p *sampling.Params) { p.Chain = []string{"nonesuch"} },
		"plugin:x":          func(p *sampling.Params) { p.Chain = []string{"top_k", "plugin:x"} },
		"temperature":       func(p *sampling.Params) { p.Temperature = float32(math.NaN()) },
		"logit_bias":        func(p *sampling.Params) { p.LogitBias = map[int32]float32{99999: 1} },
		"grammar":           func(p *sampling.Params) { p.Grammar = "root ::= root" },
		"repeat_penalty":    func(p *sampling.Params) { p.RepeatPenalty = 0 },
		"min_keep":          func(p *sampling.Params) { p.MinKeep = -1 },
		"dry_multiplier":    func(p *sampling.Params) { p.DryMultiplier = float32(math.Inf(1)) },
		"dynatemp_exponent": func(p *sampling.Params) { p.DynatempExponent = -1 },
	} {
		p := sampling.Default()
		change(&p)
		_, err := e.NewChain(p)
		if !errors.Is(err, sampling.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want ErrInvalid that names it", name, err)
		}
	}
	p := sampling.Default()
	p.RepeatLastN, p.DryPenaltyLastN, p.DryMultiplier = -1, math.MaxInt, 1
	stages, err := e.NewChain(p)
	if err != nil {
		t.Fatalf("look-back beyond the context: %v", err)
	}
	if err := stages[0].Close(); err != nil {
		t.Error(err)
	}
}

// A chain with a plugin in the middle that does nothing draws what the chain without it draws.
func TestEngine_NewStage_LinksEqualWhole(t *testing.T) {
	e := opened(t, Options{})
	b := e.Backend()
	p := sampling.Default()
	p.Seed, p.LogitBias = 3, map[int32]float32{5: 2}
	whole := must.Get(e.NewChain(p))(t)
	defer func() { _ = whole[0].Close() }()
	p.Chain = []string{"penalties", "top_k", "plugin:idle", "typ_p", "top_p", "min_p", "temperature"}
	var stages []*Stage
	for _, l := range Links(p) {
		if l.Plugin != "" {
			continue
		}
		stage := must.Get(e.NewStage(p, l))(t)
		defer func() { _ = stage.Close() }()
		if stage.Native() {
			t.Error("a part of a chain says that it is one")
		}
		stages = append(stages, stage)
	}
	for step := range 20 {
		row := feed(t, b, 0, step, int32(100+step))
		want := draw(t, b, whole[0])
		v := chain.View{Row: row, N: -1, Chosen: -1}
		for _, stage := range stages {
			must.Do(t, stage.Apply(&v))
		}
		if v.Chosen != want {
			t.Fatalf("step %d: links drew %d, the whole %d", step, v.Chosen, want)
		}
		for _, stage := range stages {
			must.Get(stage.Accept(v.Chosen))(t)
		}
	}
}

// At temperature 0 the likeliest token is taken, also by a chain without the temperature sampler.
func TestEngine_NewChain_GreedyWithoutTemperature(t *testing.T) {
	e := opened(t, Options{})
	b := e.Backend()
	row := feed(t, b, 0, 0, 100)
	best := slices.Index(row, slices.Max(row))
	for seed := range uint32(20) {
		p := sampling.Default()
		p.Seed, p.Temperature, p.Chain = seed, 0, []string{"penalties"}
		chain := must.Get(e.NewChain(p))(t)
		if got := draw(t, b, chain[0]); int(got) != best {
			t.Errorf("seed %d: drew %d, the likeliest is %d", seed, got, best)
		}
		if err := chain[0].Close(); err != nil {
			t.Error(err)
		}
	}
}

// SPDX-License-Identifier: MIT

package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// randomRow has logits of all sizes, and some that cannot be drawn.
func randomRow(r *rand.Rand, n int) []float32 {
	row := make([]float32, n)
	for i := range row {
		if row[i] = float32(r.NormFloat64() * 4); r.IntN(20) == 0 {
			row[i] = float32(math.Inf(-1))
		}
	}
	return row
}

// redrawn are requests whose chains see rows in their own ways.
func redrawn() map[string]func(p *sampling.Params) {
	return map[string]func(p *sampling.Params){
		"as usual":     func(*sampling.Params) {},
		"greedy":       func(p *sampling.Params) { p.Temperature = 0 },
		"typical":      func(p *sampling.Params) { p.Chain = []string{"typ_p", "temperature"}; p.TypicalP = 0.5 },
		"min-p first":  func(p *sampling.Params) { p.Chain = []string{"min_p", "temperature"}; p.MinP = 0.02 },
		"temperature":  func(p *sampling.Params) { p.Chain = []string{"temperature"} },
		"penalties":    func(p *sampling.Params) { p.RepeatPenalty, p.RepeatLastN = 1.7, 20 },
		"mirostat":     func(p *sampling.Params) { p.Mirostat = 2 },
		"xtc":          func(p *sampling.Params) { p.XTCProbability, p.XTCThreshold = 1, 0.02 },
		"with a bias":  func(p *sampling.Params) { p.LogitBias = map[int32]float32{300: 8, 301: banned} },
		"many allowed": func(p *sampling.Params) { p.Grammar = `root ::= [^b]*` },
		"regex":        func(p *sampling.Params) { p.Grammar, p.Regex = "", `(?i)[a-f]{2,}( [0-9]+)*` },
	}
}

// A token that is drawn under a grammar is the one that the samplers draw from a row in which no
// other has a chance, in either way: all of an answer's chain at once, and a part of it.
func TestStage_Redraw_IsOfWhatTheGrammarAllows(t *testing.T) {
	e := opened(t, Options{})
	for name, change := range redrawn() {
		p := sampling.Default()
		p.Grammar = `root ::= ([a-z]+ | "<" [0-9]{1,3} ">")+`
		change(&p)
		whole := wholeChain(t, e, p)
		free := p
		free.Constraint = sampling.Constraint{}
		masked := wholeChain(t, e, free)
		r := rand.New(rand.NewPCG(1, 2))
		history := []scheduler.Token{1}
		for _, s := range []*Stage{whole, masked} {
			must.Do(t, s.Reset(history, 1))
		}
		again := 0
		mask := make([]uint32, (e.info.Vocabulary+31)/32)
		for range 60 {
			row := randomRow(r, e.info.Vocabulary)
			must.Do(t, whole.rules.grammar.Mask(whole.rules.here, e.tokens(), mask))
			want, err := masked.sampler.Sample(row) // which takes a random number, as the first choice does
			if err != nil {
				t.Fatal(err)
			}
			if mask[want/32]>>(want%32)&1 == 0 {
				again++
				v := native.Candidates{Chosen: -1}
				for t, x := range row {
					if mask[t/32]>>(t%32)&1 == 1 && x > banned {
						v.ID, v.Logit, v.N = append(v.ID, int32(t)), append(v.Logit, x), v.N+1
					}
				}
				must.Do(t, masked.sampler.Apply(&v))
				want = v.Chosen
			}
			got, err := whole.sample(row)
			if err != nil || got != want {
				t.Fatalf("%s, after %v: %d, want %d, %v", name, history, got, want, err)
			}
			if e.model.EndOfGeneration(got) {
				break
			}
			history = append(history, got)
			for _, s := range []*Stage{whole, masked} {
				must.Get(s.Accept(got))(t)
			}
		}
		if again == 0 {
			t.Errorf("%s: no token was drawn again", name)
		}
	}
}

// Where earlier stages have left candidates, one of those that the grammar allows is chosen, and
// if there is none, any token of the row.
func TestStage_Apply_ChoosesAmongCandidates(t *testing.T) {
	e := opened(t, Options{})
	p := greedily()
	p.Grammar = `root ::= [ab]+`
	a, b, x := tokens(t, e, "a")[0], tokens(t, e, "b")[0], tokens(t, e, "x")[0]
	if ends := tokens(t, e, "a"); len(ends) > 1 {
		a, b, x = ends[len(ends)-1], tokens(t, e, "b")[len(ends)-1], tokens(t, e, "x")[len(ends)-1]
	}
	row := make([]float32, e.info.Vocabulary)
	row[a] = 3
	for name, c := range map[string]struct {
		ids  []int32
		want int32
	}{"one fits": {[]int32{x, b}, b}, "none fits": {[]int32{x}, a}, "no stage before": {nil, a}} {
		s := wholeChain(t, e, p)
		v := chain.View{Row: row, ID: c.ids, Logit: []float32{5, 4}[:len(c.ids)], N: len(c.ids), Chosen: -1}
		if c.ids == nil {
			v.N = -1
		}
		if err := s.Apply(&v); err != nil || v.Chosen != c.want {
			t.Errorf("%s: %d, want %d, %v", name, v.Chosen, c.want, err)
		}
	}
}

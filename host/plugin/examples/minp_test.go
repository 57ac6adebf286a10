// SPDX-License-Identifier: MIT

//go:build !race

// Here is nothing but arithmetic, which the race detector would make ten times slower.

package examples

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

const (
	minPSeed  = 4321
	seenBest  = 256 // candidates that the plugins see
	nativeRow = 1_536
)

// pairs are draws for each of minPs.
var pairs = steadytest.InLongTest(2_500, 500)

var minPs = []float32{0.02, 0.05, 0.1, 0.3}

// nameless is a vocabulary of tokens that are nothing but numbers.
type nameless struct{}

func (nameless) Size() int               { return nativeRow }
func (nameless) Piece(int32) string      { return "" }
func (nameless) Attributes(int32) uint32 { return 0 }
func (nameless) Special(int32) int32     { return -1 }

func (nameless) Tokenize(string, bool, bool) ([]int32, error) { return nil, nil }

func newNativeSampler(t *testing.T, m *native.Model, minP float32, chain ...native.SamplerKind) *native.Sampler {
	t.Helper()
	s := must.Get(native.NewSampler(m, native.SamplerOptions{
		Chain: chain, Select: native.SelectDist, Seed: minPSeed, SamplerNumbers: native.SamplerNumbers{MinP: minP, TopK: seenBest, RepeatPenalty: 1},
	}))(t)
	must.Close(t, s)
	return s
}

// rows are the windows of a long list of logits. None are equal, since nothing would decide their
// order.
type rows struct {
	*rand.Rand
	logits []float32
}

func newRows(seed uint64) rows {
	r := rows{rand.New(rand.NewPCG(seed, 2)), make([]float32, 1<<16)}
	for i, k := range r.Perm(len(r.logits)) {
		u := (float64(k) + 0.5) / float64(len(r.logits))
		r.logits[i] = float32(2 * math.Log(u/(1-u)))
	}
	return r
}

func (r rows) next() []float32 {
	at := r.IntN(len(r.logits) - nativeRow)
	return r.logits[at : at+nativeRow]
}

// The plugins keep what llama.cpp's own min_p keeps: of the same row llama.cpp's dist sampler,
// with the same seed and so the same random numbers, draws the same token from what they left as
// from what min_p left, 2,000 times, and 10,000 times in `make test-long`. Who draws is llama.cpp
// both times; the random numbers of the ABI are others than its Mersenne Twister's, see the test
// below.
func TestMinP_LlamaCpp_DrawsTheSameTokens(t *testing.T) {
	model := nativeModel(t)
	for _, name := range []string{"min-p", "stdgo/min-p", "min-p-rust"} {
		t.Run(name, func(t *testing.T) {
			module := loaded(t, name, nameless{})
			rows, tokens := newRows(1), map[int32]bool{}
			for _, minP := range minPs {
				stage := begun(t, module, plugin.RequestInfo{Config: fmt.Appendf(nil, `{"min_p":%v}`, minP), MaxTokens: 1})
				own, dist := newNativeSampler(t, model, minP, native.TopK, native.MinP), newNativeSampler(t, model, minP)
				for i := range pairs {
					row := rows.next()
					want := must.Get(own.Sample(row))(t)
					left := applied(t, stage, row)
					v := native.Candidates{ID: left.ID, Logit: left.Logit, N: left.N, Chosen: -1}
					if err := dist.Apply(&v); err != nil || v.Chosen != want {
						t.Fatalf("min_p %v, draw %d: %d from the %d tokens that the plugin left, %d with llama.cpp's min_p; %v", minP, i, v.Chosen, left.N, want, err)
					}
					tokens[want] = true
				}
			}
			if len(tokens) < nativeRow/2 {
				t.Errorf("only %d different tokens were drawn: too little was compared", len(tokens))
			}
		})
	}
}

// The plugin that draws by itself ("draw": true) takes, with the ABI's random number, the token
// that llama.cpp would take with that number: the first in its order at which the running sum of
// the weights reaches it.
func TestMinP_LlamaCpp_DrawsByTheSameRule(t *testing.T) {
	model := nativeModel(t)
	module := loaded(t, "min-p", nameless{})
	rows := newRows(3)
	for _, minP := range minPs {
		stage := begun(t, module, plugin.RequestInfo{Config: fmt.Appendf(nil, `{"min_p":%v,"draw":true}`, minP), Seed: minPSeed, MaxTokens: pairs})
		own := must.Get(native.NewSampler(model, native.SamplerOptions{
			Chain: []native.SamplerKind{native.TopK, native.MinP}, Select: native.SelectNone,
			SamplerNumbers: native.SamplerNumbers{MinP: minP, TopK: seenBest, RepeatPenalty: 1},
		}))(t)
		for i := range pairs {
			row := slices.Clone(rows.next())
			kept := native.Candidates{Row: row, N: -1, Chosen: -1}
			must.Do(t, own.Apply(&kept))
			want := drawAt(kept.ID[:kept.N], kept.Logit[:kept.N], uniformAt(minPSeed, 1+i))
			if got := applied(t, stage, row).Chosen; got != want {
				t.Fatalf("min_p %v, draw %d: the plugin chose %d, by llama.cpp's rule it is %d of %d", minP, i, got, want, kept.N)
			}
			must.Get(stage.Accept(want))(t)
		}
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	}
}

func nativeModel(t *testing.T) *native.Model {
	t.Helper()
	model := must.Get(native.LoadModel(t.Context(), filepath.Join("..", "..", "model", "penstock-tiny.gguf"), native.ModelOptions{VocabOnly: true}))(t)
	must.Close(t, model)
	return model
}

func applied(t *testing.T, s *stage.Stage, row []float32) chain.View {
	t.Helper()
	v := chain.View{Row: row, N: -1, Chosen: -1}
	must.Do(t, s.Apply(&v))
	return v
}

// drawAt is how llama.cpp's dist sampler chooses with a random number from [0, 1).
func drawAt(ids []int32, logits []float32, u float64) int32 {
	best, sum := slices.Max(logits), 0.0
	for _, x := range logits {
		sum += float64(float32(math.Exp(float64(x - best))))
	}
	running := 0.0
	for i, x := range logits {
		if running += float64(float32(math.Exp(float64(x - best)))); running >= sum*u {
			return ids[i]
		}
	}
	return ids[len(ids)-1]
}

// uniformAt is the SDK's random number at a position of the first plugin's request: 24 bits of the
// ABI's random().
func uniformAt(seed uint64, position int) float64 {
	return float64(abi.Draw(seed, 0, uint64(position), 0)>>40) / (1 << 24)
}

// The temperature that dynamic-temperature takes is that of llama.cpp's dynatemp_range.
func TestDynamicTemperature_LlamaCpp_TakesTheSame(t *testing.T) {
	rows := newRows(5)
	stage := begun(t, loaded(t, "dynamic-temperature", nameless{}), plugin.RequestInfo{Config: []byte(`{"min":0.4,"max":1.6,"exponent":1.3}`), MaxTokens: 1})
	own := must.Get(native.NewSampler(nativeModel(t), native.SamplerOptions{
		Chain: []native.SamplerKind{native.TopK, native.Temperature}, Select: native.SelectNone,
		SamplerNumbers: native.SamplerNumbers{TopK: seenBest, Temperature: 1, DynatempRange: 0.6, DynatempExponent: 1.3, RepeatPenalty: 1},
	}))(t)
	for i := range 50 {
		row := slices.Clone(rows.next())
		want := native.Candidates{Row: row, N: -1, Chosen: -1}
		must.Do(t, own.Apply(&want))
		got := applied(t, stage, row)
		for k := range got.N {
			if k >= want.N || got.ID[k] != want.ID[k] || math.Abs(float64(got.Logit[k]-want.Logit[k])) > 1e-4 {
				t.Fatalf("row %d: candidate %d of %d is token %d with %v, llama.cpp's is %d with %v of %d", i, k, got.N, got.ID[k], got.Logit[k], want.ID[k], want.Logit[k], want.N)
			}
		}
	}
	if err := own.Close(); err != nil {
		t.Error(err)
	}
}

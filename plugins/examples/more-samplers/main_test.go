// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// numbers are a configuration.
type numbers struct{ factor, curve, epsilon, eta, tfs, topA float64 }

func (n numbers) String() string {
	return fmt.Sprintf(`{"smoothing_factor":%v,"smoothing_curve":%v,"epsilon_cutoff":%v,"eta_cutoff":%v,"tfs":%v,"top_a":%v}`, n.factor, n.curve, n.epsilon, n.eta, n.tfs, n.topA)
}

// reference is the distribution that the formulas leave, in float64. close is how near, as a ratio,
// the closest probability came to a limit: there rounding decides.
func reference(n numbers, logits map[penstock.Token]float64) (left map[penstock.Token]float64, close float64) {
	close, left = math.Inf(1), maps.Clone(logits)
	if n.factor > 0 {
		highest := slices.Max(slices.Collect(maps.Values(left)))
		for t, x := range left {
			d, k, s := x-highest, (3-n.curve)/2, (n.curve-1)/2
			left[t] = -(k * n.factor * d * d) + s*n.factor*d*d*d + highest
		}
	}
	normalize := func() (highest, entropy float64) {
		sum, most := 0.0, slices.Max(slices.Collect(maps.Values(left)))
		for t, x := range left {
			left[t] = math.Exp(x - most)
			sum += left[t]
		}
		for t := range left {
			left[t] /= sum
			highest = max(highest, left[t])
			if left[t] > 0 {
				entropy -= left[t] * math.Log(left[t])
			}
		}
		return highest, entropy
	}
	toLogits := func() {
		for t, p := range left {
			left[t] = math.Log(p)
		}
	}
	drop := func(limit, highest float64) {
		for t, p := range left {
			close = min(close, math.Abs(p/limit-1))
			if p < limit && p < highest {
				delete(left, t)
			}
		}
	}
	if highest, _ := normalize(); n.epsilon > 0 {
		drop(n.epsilon, highest)
	}
	toLogits()
	if highest, entropy := normalize(); n.eta > 0 {
		drop(min(n.eta, math.Sqrt(n.eta)*math.Exp(-entropy)), highest)
	}
	toLogits()
	if normalize(); n.tfs < 1 && len(left) > 2 {
		order := slices.SortedFunc(maps.Keys(left), func(a, b penstock.Token) int { return cmp.Compare(left[b], left[a]) })
		bends, all := make([]float64, len(order)-2), 0.0
		for i := range bends {
			bends[i] = math.Abs(left[order[i+2]] - 2*left[order[i+1]] + left[order[i]])
			all += bends[i]
		}
		share, removed := 0.0, order[len(order)-1:] // text-generation-webui: the first never, the last always
		for i, b := range bends {
			share += b / all
			close = min(close, math.Abs(share-n.tfs))
			if share > n.tfs {
				removed = append(removed, order[i+1])
			}
		}
		for _, t := range removed {
			delete(left, t)
		}
	}
	toLogits()
	if highest, _ := normalize(); n.topA > 0 {
		drop(n.topA*highest*highest, highest)
	}
	toLogits()
	normalize()
	return left, close
}

// distribution is what candidates stand for.
func distribution(ids []penstock.Token, logits []float32) map[penstock.Token]float64 {
	sum, all := 0.0, map[penstock.Token]float64{}
	for i, t := range ids {
		if p := math.Exp(float64(logits[i] - slices.Max(logits))); !math.IsInf(float64(logits[i]), -1) {
			all[t] = p
			sum += p
		}
	}
	for t := range all {
		all[t] /= sum
	}
	return all
}

// TestSamplers_Sample_LeavesWhatTheFormulasLeave compares the whole distribution.
func TestSamplers_Sample_LeavesWhatTheFormulasLeave(t *testing.T) {
	off := numbers{curve: 1, tfs: 1}
	with := func(set func(n *numbers)) numbers {
		n := off
		set(&n)
		return n
	}
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []numbers{
		off,
		with(func(n *numbers) { n.factor = 0.3 }),
		with(func(n *numbers) { n.factor, n.curve = 0.2, 2.5 }),
		with(func(n *numbers) { n.factor, n.curve = 0.5, 6 }), // the second may become the likeliest
		with(func(n *numbers) { n.epsilon = 0.01 }),
		with(func(n *numbers) { n.epsilon = 1 }),
		with(func(n *numbers) { n.eta = 0.02 }), // with e to the entropy from 7 on, the root counts
		with(func(n *numbers) { n.eta = 0.3 }),
		with(func(n *numbers) { n.tfs = 0.9 }),
		with(func(n *numbers) { n.tfs = 0 }),
		with(func(n *numbers) { n.topA = 0.2 }),
		{0.2, 4, 0.004, 0.01, 0.97, 0.1},
	} {
		s, compared, dropped := plugintest.Open[samplers](t, plugintest.Request{Config: n.String(), Pieces: make([]string, 300)}), 0, 0
		for range 60 {
			ids, logits, exact := []penstock.Token(nil), []float32(nil), map[penstock.Token]float64{}
			for _, id := range r.Perm(300)[:1+r.IntN(60)] {
				ids, logits = append(ids, penstock.Token(id)), append(logits, float32(r.NormFloat64()*2.5))
			}
			slices.SortFunc(logits, func(a, b float32) int { return cmp.Compare(b, a) })
			for i, id := range ids {
				exact[id] = float64(logits[i])
			}
			want, close := reference(n, exact)
			if close < 1e-4 {
				continue
			}
			shown := len(ids)
			if token, ok := s.Sample(ids, logits).Token(); ok {
				t.Fatalf("%v took token %d, want some to be kept", n, token)
			}
			got := distribution(ids, logits)
			if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
				t.Fatalf("seed %d: %v leaves %d of %d candidates, want %d", seed, n, len(got), shown, len(want))
			}
			for id, p := range want {
				if math.Abs(got[id]-p) > 2e-5 {
					t.Fatalf("seed %d: %v gives token %d the probability %v, want %v", seed, n, id, got[id], p)
				}
			}
			compared, dropped = compared+1, dropped+shown-len(got)
		}
		if truncates := n.epsilon+n.eta+n.topA > 0 || n.tfs < 1; compared < 30 || (dropped > 0) != truncates {
			t.Errorf("%v: %d views were compared, in which %d candidates were dropped: too little was tested", n, compared, dropped)
		}
	}
}

func TestSamplers_Sample_Extremes(t *testing.T) {
	inf := float32(math.Inf(-1))
	for name, c := range map[string]struct {
		config string
		logits []float32
		left   int
	}{
		"one candidate":          {`{"smoothing_factor":1,"epsilon_cutoff":1,"eta_cutoff":1,"tfs":0,"top_a":1}`, []float32{3}, 1},
		"all alike have no tail": {`{"tfs":0.5}`, []float32{1, 1, 1, 1}, 4},
		"far apart":              {`{"smoothing_factor":10,"smoothing_curve":10}`, []float32{3e38, -3e38}, 2},
		"impossible ones stay":   {`{"smoothing_factor":1}`, []float32{3, 2, inf}, 2},
	} {
		s := plugintest.Open[samplers](t, plugintest.Request{Config: c.config, Pieces: make([]string, 4)})
		ids, logits := []penstock.Token{0, 1, 2, 3}[:len(c.logits)], slices.Clone(c.logits)
		s.Sample(ids, logits)
		if left := len(distribution(ids, logits)); left != c.left {
			t.Errorf("%s: %v are left of %v, want %d", name, logits, c.logits, c.left)
		}
	}
}

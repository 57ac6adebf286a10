// SPDX-License-Identifier: MIT

// Command more-samplers is a plugin: samplers of other programs that llama.cpp does not have.
package main

import (
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/math32"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[samplers](penstock.Manifest{
	Name:       "more-samplers",
	Version:    "1.0.0",
	Summary:    "smoothing, epsilon and eta cutoffs, tail-free sampling and top-a, each off until its number is given",
	Candidates: 1024,
	ConfigSchema: `{
		"title": "More samplers",
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"smoothing_factor": {"title": "Smoothing factor", "type": "number", "minimum": 0, "maximum": 10, "default": 0, "description": "a logit falls by this times the square of its distance to the highest; 0: off"},
			"smoothing_curve": {"title": "Smoothing curve", "type": "number", "minimum": 1, "maximum": 10, "default": 1, "description": "above 1 the cube of the distance counts too: the tail falls faster, and the top slower"},
			"epsilon_cutoff": {"title": "Epsilon cutoff", "type": "number", "minimum": 0, "maximum": 1, "default": 0, "description": "drops tokens less likely than this, such as 0.0003; 0: off"},
			"eta_cutoff": {"title": "Eta cutoff", "type": "number", "minimum": 0, "maximum": 1, "default": 0, "description": "the same, with a lower limit where the model is unsure; 0: off"},
			"tfs": {"title": "Tail-free sampling", "type": "number", "minimum": 0, "maximum": 1, "default": 1, "description": "drops the tail, where the probabilities no longer bend: this share of all the bends is kept; 1: off"},
			"top_a": {"title": "Top-a", "type": "number", "minimum": 0, "maximum": 1, "default": 0, "description": "drops tokens less likely than this times the square of the highest probability; 0: off"}
		}
	}`,
})

func main() {}

// samplers is the plugin in one request. It has the numbers of the configuration.
type samplers struct {
	factor, curve, epsilon, eta, tailFree, topA float32

	weights, bends []float32
	pairs          []pair
}

type pair struct {
	id    penstock.Token
	logit float32
}

// Open implements penstock.Opener.
func (s *samplers) Open(r *penstock.Request) error {
	for name, number := range map[string]*float32{
		"smoothing_factor": &s.factor, "smoothing_curve": &s.curve, "epsilon_cutoff": &s.epsilon, "eta_cutoff": &s.eta, "tfs": &s.tailFree, "top_a": &s.topA,
	} {
		*number = float32(r.Config.Get(name).Float())
	}
	return nil
}

// Sample implements penstock.Sampler. The candidates come best first, so what each sampler keeps
// are the first ones of those that are left, and only these count for the next.
func (s *samplers) Sample(c *penstock.Candidates) penstock.Choice {
	if s.factor > 0 {
		s.smooth(c)
	}
	s.weights, _ = c.Softmax(s.weights)
	kept := s.weights
	if s.epsilon > 0 {
		kept = above(kept, s.epsilon*sum(kept))
	}
	if s.eta > 0 {
		kept = above(kept, min(s.eta, float32(math.Sqrt(float64(s.eta)))*math32.Exp(-entropy(kept)))*sum(kept))
	}
	if s.tailFree < 1 {
		kept = s.withoutTail(kept)
	}
	if s.topA > 0 {
		all := sum(kept)
		kept = above(kept, s.topA*kept[0]*kept[0]/all)
	}
	if s.factor == 0 {
		return penstock.Keep(len(kept))
	}
	for i := len(kept); i < c.Len(); i++ {
		c.Ban(i)
	}
	return penstock.Edited
}

// smooth moves each logit by its distance to the highest: the farther, the more. With a curve above
// 3 the highest need not remain the highest, so the order is made anew.
func (s *samplers) smooth(c *penstock.Candidates) {
	ids, logits, highest := c.IDs(), c.Logits(), c.Highest()
	square, cube := (3-s.curve)/2, (s.curve-1)/2
	for i, x := range logits {
		d := x - highest
		logits[i] = max(highest+float32(s.factor*d*d*(float32(cube*d)-square)), -math.MaxFloat32)
	}
	if s.curve <= 3 {
		return
	}
	s.pairs = s.pairs[:0]
	for i, t := range ids {
		s.pairs = append(s.pairs, pair{t, logits[i]})
	}
	slices.SortStableFunc(s.pairs, func(a, b pair) int {
		switch {
		case a.logit > b.logit:
			return -1
		case a.logit < b.logit:
			return 1
		}
		return 0
	})
	for i, p := range s.pairs {
		ids[i], logits[i] = p.id, p.logit
	}
}

// above are the weights from a limit on, and at least the first.
func above(weights []float32, limit float32) []float32 {
	n := len(weights)
	for n > 1 && weights[n-1] < limit {
		n--
	}
	return weights[:n]
}

// withoutTail keeps the beginning with its share of the bends, which are the second differences of
// the probabilities.
func (s *samplers) withoutTail(weights []float32) []float32 {
	s.bends = s.bends[:0]
	for i := 2; i < len(weights); i++ {
		bend := (weights[i-2] - weights[i-1]) - (weights[i-1] - weights[i])
		s.bends = append(s.bends, max(bend, -bend))
	}
	all := sum(s.bends)
	if all == 0 { // two, or on one line: there is no tail
		return weights
	}
	running := float32(0)
	for i, bend := range s.bends {
		if running += bend; running > s.tailFree*all {
			return weights[:i+1]
		}
	}
	return weights[:len(weights)-1]
}

// entropy is that of the distribution that weights stand for, in nats.
func entropy(weights []float32) float32 {
	all, h := sum(weights), float32(0)
	for _, w := range weights {
		if p := w / all; p > 0 {
			h -= float32(p * math32.Log(p))
		}
	}
	return h
}

func sum(numbers []float32) (all float32) {
	for _, x := range numbers {
		all += x
	}
	return all
}

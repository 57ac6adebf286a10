// SPDX-License-Identifier: MIT

package main

import (
	"maps"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

const (
	end penstock.Token = iota
	word
	dot
	question
	dotWord
)

func request(config string) plugintest.Request {
	return plugintest.Request{
		Config:     config,
		Pieces:     []string{"", " word", ".", "?\n", ".x"},
		Attributes: map[penstock.Token]penstock.Attributes{end: penstock.AttrControl | penstock.AttrEnd},
		Prompt:     []penstock.Token{dot, dot},
	}
}

func TestLength_Prepare_Bias(t *testing.T) {
	for _, c := range []struct {
		n    int
		last penstock.Token
		want map[penstock.Token]float32
	}{
		{1, word, map[penstock.Token]float32{end: -8}},
		{29, dot, map[penstock.Token]float32{end: -8}},
		{30, dot, nil},
		{39, word, nil},
		{40, word, map[penstock.Token]float32{dot: 0.8, question: 0.8}},
		{40, dotWord, map[penstock.Token]float32{dot: 0.8, question: 0.8}},
		{40, question, map[penstock.Token]float32{end: 0.8}},
		{200, dot, map[penstock.Token]float32{end: 8}},
	} {
		s := plugintest.Open[length](t, request(`{"tokens":40,"strength":8}`))
		for range c.n - 1 {
			s.Accept(word)
		}
		s.Accept(c.last)
		if got := s.Prepare().Bias; !maps.Equal(got, c.want) {
			t.Errorf("after %d tokens, the last %d: got %v, want %v", c.n, c.last, got, c.want)
		}
	}
}

// TestLength_Prepare_EndsNearTarget lets a model that would end soon, and one that would never,
// generate under the bias.
func TestLength_Prepare_EndsNearTarget(t *testing.T) {
	for name, logits := range map[string][]float32{"short": {3, 2.9, 2, 1, 0}, "endless": {0, 5, 1, 0, 0}} {
		s := plugintest.Open[length](t, request(`{"tokens":40}`))
		n := 0
		for ; n < 100; n++ {
			bias, best := s.Prepare().Bias, penstock.Token(0)
			for t := range logits {
				if id := penstock.Token(t); logits[id]+bias[id] > logits[best]+bias[best] {
					best = id
				}
			}
			if best == end {
				break
			}
			s.Accept(best)
		}
		if n < 30 || n > 50 {
			t.Errorf("the %s model gave %d tokens, want about 40", name, n)
		}
		if last := s.History[len(s.History)-1]; name == "endless" && last != dot {
			t.Errorf("the %s model ended with token %d, want the end of a sentence", name, last)
		}
	}
}

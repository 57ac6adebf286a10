// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func TestDynamic_Sample_Temperature(t *testing.T) {
	inf := float32(math.Inf(-1))
	// Probabilities 1/2, 1/4, 1/4 have 1.5 bits of entropy, of log₂ 3 that are possible.
	half := math.Pow(1.5/math.Log2(3), 2)
	for name, c := range map[string]struct {
		config string
		logits []float32
		want   float64
	}{
		"one candidate":     {`{"min":0.5,"max":2}`, []float32{3}, 0.5},
		"one left":          {`{"min":0.5,"max":2}`, []float32{3, inf}, 0.5},
		"sure":              {`{"min":0.5,"max":2}`, []float32{300, 1, 0}, 0.5},
		"all alike":         {`{"min":0.5,"max":2}`, []float32{7, 7, 7, 7}, 2},
		"all that are left": {`{"min":0.5,"max":2}`, []float32{7, 7, inf, inf}, 2},
		"between":           {`{"min":1,"max":2,"exponent":2}`, []float32{float32(math.Ln2), 0, 0}, 1 + half},
		"defaults":          {`{}`, []float32{1, 1}, 1.5},
	} {
		t.Run(name, func(t *testing.T) {
			s := plugintest.Open[dynamic](t, plugintest.Request{Config: c.config, Pieces: []string{"a", "b", "c", "d"}})
			ids, got := []penstock.Token{0, 1, 2, 3}[:len(c.logits)], append([]float32(nil), c.logits...)
			if chosen := s.Sample(ids, got); chosen != penstock.Edited {
				t.Errorf("chose %d, want only an edited view", chosen)
			}
			for i, x := range c.logits {
				if want := float64(x) / c.want; math.Abs(float64(got[i])-want) > 1e-5*math.Abs(want) {
					t.Errorf("logit %d is %v, want %v", i, got[i], want)
				}
			}
		})
	}
}

// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// reference is min-p by its definition, over probabilities in float64.
func reference(logits []float32, minP float64) (kept []bool) {
	highest := float64(slices.Max(logits))
	for _, x := range logits {
		kept = append(kept, math.Exp(float64(x)-highest) >= minP)
	}
	return kept
}

func request(config string, seed uint64) plugintest.Request {
	return plugintest.Request{Config: config, Seed: seed, Pieces: make([]string, 1000)}
}

// draw makes random candidates, best first.
func draw(r *rand.Rand) (ids []penstock.Token, logits []float32) {
	n := 1 + r.IntN(256)
	for _, id := range r.Perm(1000)[:n] {
		ids = append(ids, penstock.Token(id))
		logits = append(logits, float32(r.NormFloat64()*4))
	}
	slices.SortFunc(logits, func(a, b float32) int { return -compare(a, b) })
	return ids, logits
}

func compare(a, b float32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestMinP_Sample_KeepsWhatTheDefinitionKeeps(t *testing.T) {
	s := plugintest.Open[minP](t, request(`{"min_p":0.1}`, 0))
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		ids, logits := draw(r)
		before, wantIDs := slices.Clone(logits), slices.Clone(ids)
		if token, ok := s.Sample(ids, logits).Token(); ok {
			t.Fatalf("took token %d, want some to be kept", token)
		}
		if !slices.Equal(ids, wantIDs) {
			t.Fatal("ids have changed")
		}
		for i, kept := range reference(before, 0.1) {
			want := before[i]
			if !kept {
				want = float32(math.Inf(-1))
			}
			// On the very border rounding decides.
			if border := math.Abs(float64(before[i]-before[0]) - math.Log(0.1)); logits[i] != want && border > 1e-6 {
				t.Fatalf("candidate %d of logit %v became %v, want %v", i, before[i], logits[i], want)
			}
		}
	}
}

func TestMinP_Sample_Extremes(t *testing.T) {
	for config, want := range map[string]int{`{"min_p":0}`: 4, `{"min_p":1}`: 2, `{}`: 3} {
		s := plugintest.Open[minP](t, request(config, 0))
		logits := []float32{2, 2, -0.5, -80}
		s.Sample([]penstock.Token{5, 6, 7, 8}, logits)
		left := 0
		for _, x := range logits {
			if !math.IsInf(float64(x), -1) {
				left++
			}
		}
		if left != want {
			t.Errorf("%s keeps %d, want %d: %v", config, left, want, logits)
		}
	}
}

func TestMinP_Open_RefusesBrokenConfig(t *testing.T) {
	_, err := plugintest.TryOpen[minP](t, request("{", 0))
	if !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "JSON") {
		t.Errorf("got %v, want a refusal that says what is wrong", err)
	}
}

// TestMinP_Sample_Draws lets the plugin choose.
func TestMinP_Sample_Draws(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for seed := range uint64(8) {
		s := plugintest.Open[minP](t, request(`{"min_p":0.02,"draw":true}`, seed))
		chosen := map[penstock.Token]bool{}
		for range 250 {
			token, _ := s.Sample(draw(r)).Token()
			chosen[token] = true
			s.Accept(token)
		}
		if len(chosen) < 50 {
			t.Errorf("seed %d: only %d different tokens were drawn, so nothing was tested", seed, len(chosen))
		}
	}
}

// TestMinP_Sample_DrawsAsModulesDo has the same session as a case that the modules play.
func TestMinP_Sample_DrawsAsModulesDo(t *testing.T) {
	s := plugintest.Open[minP](t, request(`{"min_p":0.02,"draw":true}`, 3))
	for i, want := range []penstock.Token{4, 3, 1, 4, 2, 0, 2, 3, 4, 4, 7, 0} {
		ids, logits := []penstock.Token{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []float32{3, 2.5, 2.25, 2, 1.5, 1.25, 1, 0.5, 0, -4}
		token, _ := s.Sample(ids, logits).Token()
		if token != want {
			t.Errorf("draw %d is %d, want %d", i, token, want)
		}
		s.Accept(token)
	}
}

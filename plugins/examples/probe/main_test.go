// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// Acts where the second number is larger than the first: 1 / (1 + e^(first − second)).
const larger = `"layers":[{"weights":[[-1,1]],"bias":[0]}]`

// request has the tokens "a" to "d", "no", and one that ends a turn, and a prompt of two tokens.
func request(config string) plugintest.Request {
	return plugintest.Request{
		Config: `{` + config + `}`, Pieces: []string{"a", "b", "c", "d", "no", ""}, Prompt: []penstock.Token{0, 1},
		Special: map[penstock.Special]penstock.Token{penstock.EOT: 5}, Model: `{"embedding_size":2}`,
	}
}

func TestProbe_Abstain_DeclinesAtTheFirstTokenOnly(t *testing.T) {
	for name, c := range map[string]struct {
		state    []float32
		declines bool
	}{
		"found": {[]float32{1, 2}, true}, "just": {[]float32{2, 2}, true}, "not found": {[]float32{2, 1}, false}, "no state": {nil, false},
	} {
		s := plugintest.Open[probe](t, request(larger+`,"say":"no"`))
		s.HiddenState = c.state
		got := s.Accept(2)
		if got.Splice != c.declines || c.declines && (got.Backtrack != 1 || !slices.Equal(got.Tokens, []penstock.Token{4, 5})) {
			t.Errorf("%s: %+v", name, got)
		}
		if c.declines {
			if len(s.Outputs) != 1 || !strings.Contains(s.Outputs[0], `"then":"abstain"`) {
				t.Errorf("%s: the client gets %v", name, s.Outputs)
			}
			continue
		}
		s.HiddenState = []float32{0, 9}
		if got := s.Accept(3); got.Splice || got.Stop {
			t.Errorf("%s: %+v at the second token", name, got)
		}
	}
}

func TestProbe_Stop_EndsWhereItFinds(t *testing.T) {
	s := plugintest.Open[probe](t, request(larger+`,"then":"stop","above":0.9`))
	for i, state := range [][]float32{{0, 0}, {0, 2}, {0, 3}} {
		s.HiddenState = state
		if got, want := s.Accept(2).Stop, i == 2; got != want {
			t.Fatalf("token %d: stops %v, want %v", i, got, want)
		}
	}
}

// The first of the tokens that are taken back is banned at its place, until the tries are used up.
func TestProbe_Rewind_GoesOnAnotherWay(t *testing.T) {
	s := plugintest.Open[probe](t, request(larger+`,"then":"rewind","back":2,"tries":1`))
	s.HiddenState = []float32{1, 0}
	s.Accept(2)
	s.Accept(3)
	s.HiddenState = []float32{0, 1}
	if got := s.Accept(0); !got.Splice || got.Backtrack != 2 || len(got.Tokens) > 0 {
		t.Fatalf("%+v", got)
	}
	if bias := s.Prepare().Bias; len(bias) != 1 || bias[3] == 0 {
		t.Errorf("banned are %v, want token 3", bias)
	}
	s.Accept(1)
	if bias := s.Prepare().Bias; len(bias) != 0 {
		t.Errorf("banned are %v, one place later", bias)
	}
	if got := s.Accept(0); got.Splice || got.Stop {
		t.Errorf("%+v after the last try", got)
	}
}

func TestProbe_Open_WrongNetworks(t *testing.T) {
	for config, says := range map[string]string{
		`"layers":[{"weights":[[1]],"bias":[0]}]`:                                            "train the probe on this model",
		`"layers":[{"weights":[[1,2]],"bias":[0,1]}]`:                                        "config.layers[0].bias has 2",
		`"layers":[{"weights":[[1,2],[3,4]],"bias":[0,1]}]`:                                  "ends with 2 outputs",
		`"layers":[{"weights":[[1,2],[3,4]],"bias":[0,1]},{"weights":[[1,2,3]],"bias":[0]}]`: "config.layers[1].weights[0] has 3",
	} {
		_, err := plugintest.TryOpen[probe](t, request(config))
		if !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", config, err)
		}
	}
	r := request(larger)
	r.Special = nil
	if _, err := plugintest.TryOpen[probe](t, r); err == nil || !strings.Contains(err.Error(), "stop") {
		t.Errorf("without a token that ends: %v", err)
	}
}

// A hidden layer: two neurons, of which the first is above 0 where the numbers are apart in one
// way, and the second in the other.
func TestProbe_HiddenLayer(t *testing.T) {
	const apart = `"layers":[{"weights":[[1,-1],[-1,1]],"bias":[0,0]},{"weights":[[4,4]],"bias":[-2]}],"then":"stop"`
	for _, c := range []struct {
		state []float32
		stops bool
	}{{[]float32{1, 0}, true}, {[]float32{0, 1}, true}, {[]float32{1, 1}, false}} {
		s := plugintest.Open[probe](t, request(apart))
		s.HiddenState = c.state
		if got := s.Accept(2).Stop; got != c.stops {
			t.Errorf("%v: stops %v", c.state, got)
		}
	}
}

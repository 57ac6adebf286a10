// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// sums is a model that says 4 in two ways, which together are likelier than 5, the likeliest
// answer.
func sums(tokens []penstock.Token) []float32 {
	after := map[penstock.Token][]float64{
		6: {0.05, 0.3, 0.01, 0.29, 0.28, 0.06, 0.01},       // the prompt
		1: {0.01, 0.005, 0.97, 0.004, 0.004, 0.005, 0.002}, // "so "
		2: {0.9, 0.02, 0.02, 0.02, 0.02, 0.01, 0.01},       // "5"
		3: {0.01, 0.01, 0.01, 0.01, 0.01, 0.94, 0.01},      // "it is "
		4: {0.01, 0.01, 0.01, 0.01, 0.01, 0.94, 0.01},      // "that makes "
		5: {0.9, 0.02, 0.02, 0.02, 0.02, 0.01, 0.01},       // "4"
	}
	row := make([]float32, 7)
	for t, p := range after[tokens[len(tokens)-1]] {
		row[t] = float32(math.Log(p)) + 2
	}
	return row
}

var pieces = []string{"", "so ", "5", "it is ", "that makes ", "4", "go"}

func request(config string, seed uint64) plugintest.Request {
	return plugintest.Request{Config: config, Pieces: pieces, Prompt: []penstock.Token{6}, MaxTokens: 8, ContextSize: 64, Seed: seed, Says: sums,
		Attributes: map[penstock.Token]penstock.Attributes{0: penstock.AttrEnd}, Sampling: `{"temperature":1}`}
}

// answers runs the plugin once: what it shows, and all that it has drawn.
func answers(t *testing.T, config string, seed uint64) (text string, all []answer) {
	t.Helper()
	s := plugintest.Open[bestOf](t, request(config, seed))
	shown, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range shown {
		text += pieces[token.Token]
	}
	var got struct{ Answers []answer }
	if err := json.Unmarshal([]byte(s.Outputs[0]), &got); err != nil {
		t.Fatal(err)
	}
	return text, got.Answers
}

type answer struct {
	Text    string
	Logprob float64
	Vote    string
}

func TestBestOf_Run_ShowsTheLikeliest(t *testing.T) {
	differ := 0
	for seed := range uint64(20) {
		text, all := answers(t, `{"n":5}`, seed)
		best := all[0]
		for _, a := range all {
			if a.Text != all[0].Text {
				differ++
			}
			if a.Logprob > best.Logprob {
				best = a
			}
		}
		if text != best.Text || len(all) != 5 {
			t.Errorf("seed %d: it shows %q of %+v", seed, text, all)
		}
	}
	if differ < 20 {
		t.Errorf("only %d of 80 answers differ from the first", differ)
	}
}

// The most votes win, though the likeliest single answer says otherwise.
func TestBestOf_Run_CountsVotes(t *testing.T) {
	fours := 0
	for seed := range uint64(20) {
		text, all := answers(t, `{"n":16,"vote":"([0-9])\\s*$"}`, seed)
		votes, most := map[string]int{}, 0
		for _, a := range all {
			if a.Vote != "" {
				votes[a.Vote]++
				most = max(most, votes[a.Vote])
			}
		}
		won := text[len(text)-1:]
		if votes[won] != most {
			t.Errorf("seed %d: %q won, the votes are %v", seed, text, votes)
		}
		if won == "4" {
			fours++
		}
	}
	if fours < 14 {
		t.Errorf("4 won only %d of 20 times", fours)
	}
}

func TestBestOf_Run_WithoutAVoteIsTheLikeliest(t *testing.T) {
	text, all := answers(t, `{"n":4,"vote":"never"}`, 3)
	best := all[0]
	for _, a := range all {
		if a.Logprob > best.Logprob {
			best = a
		}
	}
	if text != best.Text {
		t.Errorf("it shows %q of %+v", text, all)
	}
}

func TestBestOf_Open_RefusesABadExpression(t *testing.T) {
	if _, err := plugintest.TryOpen[bestOf](t, request(`{"vote":"("}`, 1)); !errors.Is(err, plugintest.ErrRefused) {
		t.Errorf("it is opened: %v", err)
	}
}

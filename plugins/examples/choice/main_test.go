// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// likes is a model of five tokens that begins with a more often than with b, but is sure how b
// goes on.
func likes(tokens []penstock.Token) []float32 {
	after := map[penstock.Token][]float64{
		4: {0.05, 0.6, 0.3, 0.025, 0.025}, // the prompt
		1: {0.2, 0.2, 0.2, 0.2, 0.2},
		2: {0.02, 0.02, 0.02, 0.92, 0.02},
		3: {0.5, 0.1, 0.1, 0.2, 0.1},
	}
	row := make([]float32, 5)
	for t, p := range after[tokens[len(tokens)-1]] {
		row[t] = float32(math.Log(p)) - 1
	}
	return row
}

func request(config string) plugintest.Request {
	return plugintest.Request{Config: config, Pieces: []string{"", "a", "b", "c", "go"}, Prompt: []penstock.Token{4}, MaxTokens: 16, ContextSize: 64, Says: likes}
}

func TestChoice_Run_ShowsTheLikeliest(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"a sum":                  {`{"choices":["ac","bc"]}`, "bc"},
		"longer is less likely":  {`{"choices":["bcc","a"]}`, "a"},
		"by its tokens":          {`{"choices":["bcc","ac"],"normalize":"tokens"}`, "bcc"},
		"by its bytes":           {`{"choices":["bcc","ac"],"normalize":"bytes"}`, "bcc"},
		"more than it has place": {`{"choices":["ab","aa","cb","ca","bb","ba","bc","cc"]}`, "bc"},
		"the first of equals":    {`{"choices":["aab","aba","aac"]}`, "aab"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plugintest.Open[choice](t, request(c.config))
			shown, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, token := range shown {
				got.WriteString(s.Pieces[token.Token])
			}
			if got.String() != c.want {
				t.Errorf("it shows %q, want %q", got.String(), c.want)
			}
		})
	}
}

func TestChoice_Run_GivesAllScores(t *testing.T) {
	s := plugintest.Open[choice](t, request(`{"choices":["bcc","a"],"normalize":"tokens"}`))
	if _, err := s.Run(); err != nil || len(s.Outputs) != 1 {
		t.Fatalf("%d outputs, %v", len(s.Outputs), err)
	}
	var got struct {
		Choices []struct {
			Text           string
			Tokens         int
			Logprob, Score float64
		}
	}
	if err := json.Unmarshal([]byte(s.Outputs[0]), &got); err != nil || len(got.Choices) != 2 {
		t.Fatalf("%v: %s", err, s.Outputs[0])
	}
	first, want := got.Choices[0], math.Log(0.3*0.92*0.2)
	if first.Text != "bcc" || first.Tokens != 3 || math.Abs(first.Logprob-want) > 1e-5 || math.Abs(first.Score-want/3) > 1e-5 {
		t.Errorf("it gives %+v, want the log-probability %v", first, want)
	}
}

func TestChoice_Open_RefusesWhatTheModelCannotWrite(t *testing.T) {
	if _, err := plugintest.TryOpen[choice](t, request(`{"choices":["a","z"]}`)); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "z") {
		t.Errorf("it is opened with %v", err)
	}
}

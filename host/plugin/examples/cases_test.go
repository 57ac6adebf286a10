// SPDX-License-Identifier: MIT

package examples

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/session"
)

// TestGoldenCases_Model_TellWhatDiffers has a program run on a model, and says what comes of it
// wrongly.
func TestGoldenCases_Model_TellWhatDiffers(t *testing.T) {
	for outcome, want := range map[string]string{
		`"shown":[[2,3],[1]],"computed":5,"answer":0`: "",
		`"shown":[[2,3],[3]]`:                         `shown: recorded choice 0: token 2 "b", token 3 "c"; choice 1: token 3 "c", came choice 0`,
		`"shown":[2,3]`:                               `shown: recorded token 2 "b", token 3 "c", came choice 0: token 2 "b", token 3 "c"; choice 1`,
		`"logprobs":[[-1,-1],[]]`:                     "logprobs: recorded choice 0: [-1 -1]; choice 1: [], came",
		`"computed":4`:                                "computed: recorded 4, came 5",
		`"computed":0`:                                "computed: recorded 0, came 5",
		`"adopted":[]`:                                "",
		`"logprobs":[["nan","nan"],["nan"]]`:          "",
		`"logprobs":[[],[]]`:                          "",
		`"answer":1`:                                  "answer: recorded 1, came 0",
		`"refusal":"no"`:                              `refusal: recorded "no", came none`,
		`"adopted":[{"tokens":[4,2],"from":1}]`:       `adopted: recorded [{"tokens":[4,2],"from":1}], came`,
		`"outputs":[{"beams":[{"score":-0.38014,"text":"bc","tokens":[2,3]},{"score":-0.8574,"text":"a","tokens":[1]}]}]`: "",
		`"outputs":[{"beams":[{"score":-0.38114,"text":"bc","tokens":[2,3]},{"score":-0.8574,"text":"a","tokens":[1]}]}]`: "outputs: recorded",
	} {
		f, err := session.Read(strings.NewReader(`{"penstock_session":1,"vocabulary":{"pieces":["","a","b","c","go"],"attributes":{"end":[0]}},"sessions":[
			{"plugin":{"name":"beam"},"request":{"config":{"width":2},"prompt":[4],"max_tokens":8,"choices":2},"model":[
				{"after":[4],"probabilities":[0.01,0.6,0.37,0.01,0.01]},{"after":[1],"probabilities":[0.3,0.2,0.2,0.2,0.1]},
				{"after":[2],"probabilities":[0.01,0.01,0.01,0.96,0.01]},{"after":[3],"probabilities":[0.9,0.03,0.03,0.03,0.01]}],
			"calls":[{"call":"open"},{"call":"run",` + outcome + `}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		d, err := newPlayer(t, "beam", f).Play(t.Context(), &f.Sessions[0])
		if err != nil || (d == nil) != (want == "") || d != nil && !strings.Contains(d.String(), want) {
			t.Errorf("%s: %v, %v, want %q", outcome, d, err, want)
		}
	}
}

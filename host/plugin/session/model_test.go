// SPDX-License-Identifier: MIT

package session

import (
	"errors"
	"strings"
	"testing"
)

func TestRead_RefusesModels(t *testing.T) {
	for session, want := range map[string]string{
		`"model":[{"after":[2],"logits":[1,2]}],"calls":[]`:                                              "sessions[0].model[0].after[0]: there is no token 2; the vocabulary has 2",
		`"model":[{"after":[-2],"logits":[1,2]}],"calls":[]`:                                             "model[0].after[0]: there is no token -2",
		`"model":[{},{"says":[1]}],"calls":[]`:                                                           "model[0].probabilities, logits and says: 0 of them are given; an entry has one",
		`"model":[{"says":[1],"logits":[1,2]}],"calls":[]`:                                               "2 of them are given",
		`"model":[{"logits":[1]}],"calls":[]`:                                                            "model[0].logits: 1 numbers; give one for each of the 2 tokens",
		`"model":[{"logits":[1,"inf"]}],"calls":[]`:                                                      "string into Go struct field",
		`"model":[{"logits":[1,1e39]}],"calls":[]`:                                                       "1e39",
		`"model":[{"probabilities":[0.5,-0.1]}],"calls":[]`:                                              "model[0].probabilities[1]: -0.1; a probability is 0 or more",
		`"model":[{"probabilities":[0,0]}],"calls":[]`:                                                   "probabilities: their sum is 0",
		`"model":[{"probabilities":[1e300,0]}],"calls":[]`:                                               "probabilities: their sum is 1e+300",
		`"model":[{"says":[-1]}],"calls":[]`:                                                             "model[0].says[0]: there is no token -1",
		`"model":[{"says":[1` + strings.Repeat(",1", 1024) + `]}],"calls":[]`:                            "model[0].says: 1025 tokens; there are 1024 at most",
		`"model":[{"says":[1]}` + strings.Repeat(`,{"says":[1]}`, 4096) + `],"calls":[]`:                 "sessions[0].model: 4097 entries; it has 4096 at most",
		`"model":[],"calls":[{"call":"open"},{"call":"run","deeds":[{"do":"branch_close","args":[7]}]}]`: "calls[1].deeds: the model answers what the program does",
		`"model":[],"request":{"context_size":2,"prompt":[1,1]},"calls":[]`:                              "request.prompt: 2 tokens; a context of 2 has room for less",
		`"model":[{"says":[1` + strings.Repeat(",1", 1023) + `]}` + strings.Repeat(`,{"says":[1`+strings.Repeat(",1", 1023)+`]}`, 64) + `],"calls":[]`: "sessions[0].model: more than 65536 tokens in after and says",
		`"model":[],"calls":[{"call":"open"},{"call":"step"}]`:                   `calls[1].call: "step"; a session with a model has open, and run`,
		`"model":[],"calls":[{"call":"open"},{"call":"accept","token":1}]`:       `calls[1].call: "accept"; a session with a model has open, and run`,
		`"calls":[{"call":"open"},{"call":"run","shown":[1]}]`:                   "calls[1]: shown, logprobs, adopted and computed belong to the run of a session with a model",
		`"model":[],"calls":[{"call":"open","computed":3}]`:                      "calls[0]: shown, logprobs",
		`"templates":[{"messages":[],"tokens":[]}],"calls":[]`:                   "templates: they belong to a session with a model",
		`"model":[],"templates":[{"messages":[],"tokens":[9]}],"calls":[]`:       "templates[0].tokens[0]: there is no token 9",
		`"model":[],"request":{"choices":65},"calls":[]`:                         "request.choices: 65; with a model it is from 0 to 64",
		`"model":[],"calls":[{"call":"open"},{"call":"run","shown":[[1],"a"]}]`:  "calls[1]: json: cannot unmarshal",
		`"model":[],"calls":[{"call":"open"},{"call":"run","logprobs":["low"]}]`: `"low" is no logit`,
	} {
		_, err := Read(strings.NewReader(`{"penstock_session":1,"vocabulary":{"pieces":["a","b"]},"sessions":[{"plugin":{"name":"p"},` + session + `}]}`))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s\ngot %v, want %q", session, err, want)
		}
	}
}

func TestRead_RefusesATable(t *testing.T) {
	_, err := Read(strings.NewReader(`{"penstock_session":1,"vocabulary":{"pieces":["a","b"]},"table":[{"logits":[1]}]}`))
	if err == nil || !strings.Contains(err.Error(), "table[0].logits: 1 numbers") {
		t.Error(err)
	}
}

// The last digits of a number that is not whole may differ.
func TestSameJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"token":20000}`, `{"token":20001}`, false}, {`[0.5]`, `[0.50001]`, true}, {`[0.5]`, `[0.5001]`, false}, {`0.00003`, `0.00009`, false},
		{`0`, `1e-9`, true}, {`["a",null]`, `["a",null]`, true}, {`[1]`, `[1,2]`, false}, {`{"a":1}`, `{"b":1}`, false},
	} {
		if got := sameJSON(decodeJSON([]byte(c.a)), decodeJSON([]byte(c.b))); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// What calls take is counted once.
func TestCall_Size(t *testing.T) {
	answer := int32(0)
	if n := (&Call{Call: CallAccept, Answer: &answer}).Size(); n < 200 || n > 500 {
		t.Errorf("an accept without anything more takes %d bytes", n)
	}
}

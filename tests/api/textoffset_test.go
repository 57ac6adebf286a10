// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// text_offset counts characters, of which some are several tokens.
func TestHost_TextOffset_CountsCharacters(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	for body, last := range map[string]int{
		`{"prompt":"x","max_tokens":60,"temperature":0,"logprobs":1,"grammar":"root ::= \"aé日😀é.\""}`:              5,
		`{"prompt":"日x","max_tokens":60,"temperature":0,"logprobs":1,"echo":true,"grammar":"root ::= \"aé日😀é.\""}`: 7,
	} {
		status, text := hosts.Post(t, h.URL()+"/v1/completions", body)
		var a struct {
			Choices []struct {
				Text     string
				Logprobs struct {
					Offsets []int                `json:"text_offset"`
					Tokens  []string             `json:"tokens"`
					Top     []map[string]float64 `json:"top_logprobs"`
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil || status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		p := a.Choices[0].Logprobs
		at := -1
		for i, token := range p.Tokens {
			if token == "." {
				at = p.Offsets[i]
			}
			if _, there := p.Top[i][token]; !there && p.Top[i] != nil {
				t.Errorf("the alternatives of token %d, %q, are %v", i, token, p.Top[i])
			}
		}
		if at != last || p.Offsets[0] != 0 {
			t.Errorf("%s: the full stop is at %d, want %d, of %q with %v", body, at, last, a.Choices[0].Text, p.Offsets)
		}
	}
}

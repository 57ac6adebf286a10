// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/tools/must"
)

// judgedText is a text completion whose prompt's log-probabilities are told; the first token has
// none.
type judgedText struct {
	Choices []struct {
		Index    int
		Text     string
		Logprobs *struct {
			Tokens  []string             `json:"tokens"`
			Values  []*float32           `json:"token_logprobs"`
			Top     []map[string]float32 `json:"top_logprobs"`
			Offsets []int                `json:"text_offset"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *wire.Usage
}

// An echoed prompt has the log-probabilities of its tokens, as the answer has, whole and streamed,
// whatever of it is cached. Offsets count characters, and the alternatives contain the token
// itself.
func TestAPI_Text_EchoWithLogprobs(t *testing.T) {
	r := newRig(t, nil)
	for range 2 {
		var a judgedText
		r.post("/v1/completions", `{"prompt":["aé",[70,71,72]],"max_tokens":1,"echo":true,"logprobs":1,"temperature":0,"seed":1234}`, &a)
		if len(a.Choices) != 2 || a.Usage.Completion != 2 {
			t.Fatalf("got %+v", a)
		}
		for i, want := range [][]int{{0, 1, 1, 2}, {0, 1, 2, 3}} { // é is two tokens
			p := a.Choices[i].Logprobs
			if diff := cmp.Diff(want, p.Offsets); diff != "" || len(p.Tokens) != 4 || len(p.Top) != 4 || p.Values[0] != nil || p.Top[0] != nil {
				t.Fatalf("choice %d: %s %+v", i, diff, p)
			}
			for k := range p.Tokens[1:] {
				if l, there := p.Top[k+1][p.Tokens[k+1]]; !there || p.Values[k+1] == nil || l < *p.Values[k+1] {
					t.Errorf("choice %d: token %d is %q, of %v", i, k+1, p.Tokens[k+1], p.Top[k+1])
				}
			}
		}
		_, _, text := r.call(http.MethodPost, "/v1/completions", `{"prompt":["aé"],"max_tokens":1,"echo":true,"logprobs":1,"temperature":0,"stream":true}`)
		var all judgedText
		for _, f := range frames(t, text) {
			var part judgedText
			if f == "[DONE]" {
				continue
			}
			must.Do(t, json.Unmarshal([]byte(f), &part))
			if all.Choices == nil {
				all.Choices = part.Choices
				continue
			}
			into, c := &all.Choices[0], part.Choices[0]
			into.Text += c.Text
			if p := c.Logprobs; p != nil {
				l := into.Logprobs
				l.Tokens, l.Values = append(l.Tokens, p.Tokens...), append(l.Values, p.Values...)
				l.Top, l.Offsets = append(l.Top, p.Top...), append(l.Offsets, p.Offsets...)
			}
		}
		if diff := cmp.Diff(a.Choices[0].Logprobs, all.Choices[0].Logprobs); diff != "" || all.Choices[0].Text != a.Choices[0].Text {
			t.Errorf("streamed: %s, %q", diff, all.Choices[0].Text)
		}
	}
}

// The token that ends an answer has an entry, on whose being there clients count.
func TestAPI_Text_EchoWithLogprobs_TheEndIsAToken(t *testing.T) {
	r := newRig(t, func(s *setup) { s.end = 4 })
	for _, stream := range []string{"false", "true"} {
		_, _, text := r.call(http.MethodPost, "/v1/completions", `{"prompt":"abcd","max_tokens":1,"echo":true,"logprobs":1,"stream":`+stream+`}`)
		if n := strings.Count(text, `"text_offset":[`); !strings.Contains(text, `"finish_reason":"stop"`) || n != map[string]int{"false": 1, "true": 3}[stream] {
			t.Fatalf("stream %s: %d in %s", stream, n, text)
		}
		if stream == "true" {
			continue
		}
		var a judgedText
		if err := json.Unmarshal([]byte(text), &a); err != nil || a.Choices[0].Text != "abcd" || len(a.Choices[0].Logprobs.Values) != 5 {
			t.Errorf("%v, %s", err, text)
		}
	}
}

// Nothing may be generated to a prompt that is echoed.
func TestAPI_Text_NoAnswer(t *testing.T) {
	r := newRig(t, nil)
	for body, tokens := range map[string]int{`{"prompt":"abc","echo":true,"max_tokens":0,"logprobs":0}`: 3, `{"prompt":"a","echo":true,"max_tokens":0,"logprobs":2}`: 1,
		`{"prompt":"abc","echo":true,"max_tokens":0}`: 0} {
		var a judgedText
		r.post("/v1/completions", body, &a)
		c := a.Choices[0]
		if !strings.HasPrefix("abc", c.Text) || c.Text == "" || c.FinishReason == nil || *c.FinishReason != "length" || a.Usage.Completion != 0 {
			t.Errorf("%s: %+v", body, a)
		}
		if tokens == 0 && c.Logprobs != nil || tokens > 0 && len(c.Logprobs.Values) != tokens {
			t.Errorf("%s: %+v", body, c.Logprobs)
		}
	}
}

// Over a WebSocket the prompt comes in frames before the answer's tokens.
func TestSocket_PromptLogprobs(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	for _, detach := range []string{"", `,"detach_ms":1000`} {
		p.send(`{"type":"generate","id":"a"%s,"request":{"prompt":"abc","echo":true,"logprobs":1,"max_tokens":0}}`, detach)
		var prompt []wire.TokenProb
		for {
			_, data := must.Both(p.conn.Read(t.Context()))(t)
			var f struct {
				Type, Reason string
				Seq          uint64
				Prompt       []wire.TokenProb
			}
			must.Do(t, json.Unmarshal(data, &f))
			if prompt = append(prompt, f.Prompt...); f.Type == "token" || f.Type == "error" {
				t.Fatalf("got %s", data)
			}
			if f.Type == "end" {
				if len(prompt) != 2 || prompt[0].Token != "b" || prompt[1].Token != "c" || len(prompt[1].Top) != 1 || f.Reason != "length" {
					t.Errorf("got %+v, %s", prompt, data)
				}
				break
			}
		}
	}
	_ = p.conn.Close(websocket.StatusNormalClosure, "")
}

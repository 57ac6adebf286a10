// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"regexp"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/chat"
)

// pensive is a model of whose answers the first five characters are reasoning.
type pensive struct{ toy }

type pensiveParser struct{ left int }

func (p pensive) Render(ctx context.Context, c chat.Conversation) (chat.Prompt, error) {
	prompt, err := p.toy.Render(ctx, c)
	prompt.HasParts, prompt.NewParser = true, func() (chat.Parser, error) { return &pensiveParser{5}, nil }
	return prompt, err
}

func (p *pensiveParser) Add(text string, _ bool) ([]chat.Delta, error) {
	n := min(p.left, len(text))
	p.left -= n
	return []chat.Delta{{Reasoning: text[:n]}, {Content: text[n:]}}, nil
}

func (*pensiveParser) Cut() ([]chat.Delta, error) { return nil, nil }
func (*pensiveParser) Close() error               { return nil }

// How many tokens are reasoning is told in the words of each API, whole and at the end of a stream.
func TestAPI_ReasoningTokens_InEachAPI(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Engine = pensive{} })
	const ask = `"messages":[{"role":"user","content":"x"}],"temperature":0`
	want := ""
	for _, c := range []struct{ path, body, field string }{
		{"/v1/chat/completions", `"max_tokens":12,"stream_options":{"include_usage":true},` + ask, `"completion_tokens_details":{"reasoning_tokens":(\d+)`},
		{"/v1/responses", `"max_output_tokens":12,"temperature":0,"input":"x"`, `"output_tokens_details":{"reasoning_tokens":(\d+)`},
		{"/v1/messages", `"max_tokens":12,` + ask, `"output_tokens_details":{"thinking_tokens":(\d+)`},
		{"/api/chat", `"options":{"num_predict":12,"temperature":0},"messages":[{"role":"user","content":"x"}]`, `"thinking_eval_count":(\d+)`},
		{"/api/generate", `"options":{"num_predict":12,"temperature":0},"prompt":"x"`, `"thinking_eval_count":(\d+)`},
	} {
		for _, stream := range []string{"false", "true"} {
			status, _, body := r.call("POST", c.path, `{"stream":`+stream+`,`+c.body+`}`)
			found := regexp.MustCompile(c.field).FindAllStringSubmatch(body, -1)
			if len(found) == 0 {
				t.Errorf("%s, stream %s: %d %s", c.path, stream, status, body)
				continue
			}
			n := found[len(found)-1][1]
			if want == "" {
				want = n
			}
			if n != want || slices.Contains([]string{"0", "12"}, n) {
				t.Errorf("%s, stream %s: %s tokens of reasoning, want %s", c.path, stream, n, want)
			}
		}
	}
	for _, c := range [][2]string{{"/v1/messages", `{"max_tokens":3,` + ask + `}`}, {"/api/generate", `{"stream":false,"raw":true,"prompt":"x","options":{"num_predict":3}}`}} {
		plain := newRig(t, nil)
		if status, _, body := plain.call("POST", c[0], c[1]); status != 200 || regexp.MustCompile(`thinking_(tokens|eval_count)":`).MatchString(body) {
			t.Errorf("%s counts what there is not: %d %s", c[0], status, body)
		}
	}
}

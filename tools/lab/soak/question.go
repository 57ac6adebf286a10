// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// question is a request for a greedy answer, whose answer on an idle server is known.
type question struct {
	chat   bool
	model  string
	text   string
	most   int            // tokens
	fields map[string]any // besides the prompt and the limit

	answer said
}

func (q question) messages() []map[string]string {
	return []map[string]string{{"role": "user", "content": q.text}}
}

func (q question) hasPlugin() bool { return q.fields["plugins"] != nil }

var stories = []string{"Tell me a story about a frog.", "Who are you?", "What is your name?", "Tell me a story about a cat and a dog.", "Hello!"}

var openings = []string{"Once upon a time", "The frog sat by the pond.", "One day the girl went to", "There was a big tree, and", "Hi"}

// examples are the example plugins, each with what an answer with it has besides.
var examples = map[string]map[string]any{
	"answer-length":       {"config": map[string]any{"tokens": 12}},
	"banned-phrases":      {"config": map[string]any{"phrases": []string{" there", " was a", " the"}}},
	"chatml":              {},
	"dynamic-temperature": {"config": map[string]any{"min": 0.01, "max": 0.01}},
	"grammar":             {"config": map[string]any{"grammar": `root ::= [a-z ,.]+`}},
	"json-schema": {"config": map[string]any{"schema": map[string]any{"type": "object", "required": []string{"name"},
		"properties": map[string]any{"name": map[string]any{"enum": []string{"frog", "toad", "newt"}}}}}},
	"llama3":          {},
	"min-p":           {"config": map[string]any{"min_p": 0.5}},
	"min-p-rust":      {"config": map[string]any{"min_p": 0.5}},
	"multiple-choice": {"config": map[string]any{"choices": []string{"green", "brown", "it depends"}}},
	"regex-stop":      {"config": map[string]any{"pattern": `\.`}},
	"repetition-stop": {"config": map[string]any{"tokens": 2, "times": 2}},
	"transcript":      {},
	"watermark":       {"config": map[string]any{"key": "5f1d7a84db00d2fce00b31a7fc73224f5f1d7a84db00d2fce00b31a7fc73224f", "scheme": "green", "delta": 3}},
}

func exampleNames() []string { return slices.Sorted(maps.Keys(examples)) }

// lora is a value of the field of that name; the steady adapter is the first.
func lora(scale float64) []map[string]any { return []map[string]any{{"id": 0, "scale": scale}} }

// questions are those that the clients ask. Each names its adapters, since those for all change.
func questions() (all []question) {
	add := func(chat bool, text string, most int, fields map[string]any) {
		if fields["lora"] == nil {
			fields["lora"] = lora(0)
		}
		all = append(all, question{chat: chat, model: tiny, text: text, most: most, fields: fields})
	}
	for i := range stories {
		add(true, stories[i], 24+8*i, map[string]any{})
		add(false, openings[i], 24+8*i, map[string]any{})
		all = append(all, question{model: small, text: openings[i], most: 16, fields: map[string]any{}})
	}
	for _, scale := range []float64{1, 0.5} {
		add(true, stories[0], 24, map[string]any{"lora": lora(scale)})
		add(false, openings[0], 24, map[string]any{"lora": lora(scale)})
	}
	add(false, openings[0], 32, map[string]any{"grammar": `root ::= [a-z ]+ "."`})
	add(true, stories[1], 32, map[string]any{"regex": `[A-Z][a-z ]{5,30}\.`})
	add(true, stories[0], 40, map[string]any{"json_schema": map[string]any{"type": "object", "required": []string{"age"},
		"properties": map[string]any{"age": map[string]any{"type": "integer", "maximum": 20}}}})
	for _, name := range exampleNames() {
		use := map[string]any{"name": name}
		maps.Copy(use, examples[name])
		add(true, stories[0], 32, map[string]any{"plugins": []any{use}})
	}
	return all
}

// nearTie is how far apart two tokens may be for sums in another order to decide otherwise between
// them, as logarithms of probabilities. Where a CPU has no kernel whose rows are independent of
// each other, the rest of a batch decides the order.
const nearTie = 0.01

// learn asks all questions while nobody else asks, and leaves out those whose answer hangs on a
// near tie.
func (s *soak) learn(ctx context.Context) error {
	for _, q := range questions() {
		q, tie, err := s.ask(ctx, q)
		if err != nil {
			return err
		}
		if tie {
			s.ties++
			continue
		}
		s.questions = append(s.questions, q)
	}
	if s.ties > len(s.questions)/2 {
		return fmt.Errorf("%d of %d answers hang on a near tie, so too few are left to compare", s.ties, s.ties+len(s.questions))
	}
	return nil
}

// probability is a token with those that were as likely.
type probability struct {
	Logprob float64
	Top     []struct{ Logprob float64 } `json:"top_logprobs"`
}

// ask has a question answered with the probabilities of its tokens, and again in every dialect,
// whole and streamed.
func (s *soak) ask(ctx context.Context, q question) (_ question, tie bool, _ error) {
	d, more := dialects[1], map[string]any{"n_probs": 10}
	if q.chat {
		d, more = dialects[3], map[string]any{"logprobs": true, "top_logprobs": 10}
	}
	b := d.body(q, false)
	maps.Copy(b, more)
	c := post(d.path, goodKeys[0], b)
	a, err := s.send(ctx, c)
	if err != nil {
		return q, false, err
	}
	var probs struct {
		Choices []struct {
			Logprobs struct{ Content []probability }
		}
		Tokens []probability `json:"completion_probabilities"`
	}
	if q.answer, err = d.read(a.Body, false); err != nil || a.Status != 200 || json.Unmarshal(a.Body, &probs) != nil {
		return q, false, &wrong{c.String(), a.String(), fmt.Sprintf("an answer (%v)", err)}
	}
	tokens := probs.Tokens
	for _, choice := range probs.Choices {
		tokens = choice.Logprobs.Content
	}
	if len(tokens) == 0 && q.answer.text != "" {
		return q, false, &wrong{c.String(), a.String(), "the probabilities of its tokens"}
	}
	if slices.ContainsFunc(tokens, probability.tied) {
		return q, true, nil
	}
	for _, d := range dialects {
		for _, stream := range []bool{false, true} {
			if d.chat != q.chat {
				continue
			}
			if _, err := s.compare(ctx, post(d.path, goodKeys[1], d.body(q, stream)), d, q, stream); err != nil {
				return q, false, err
			}
		}
	}
	return q, false, nil
}

// tied reports whether another token was as likely: the token is in its own list, too.
func (p probability) tied() bool {
	near := 0
	for _, other := range p.Top {
		if math.Abs(other.Logprob-p.Logprob) < nearTie {
			near++
		}
	}
	return near > 1
}

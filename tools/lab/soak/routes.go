// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/penstock/penstock/tools/lab/bench"
)

// gets are the routes that are only looked at.
var gets = []string{"/", "/health", "/livez", "/readyz", "/props", "/slots", "/lora-adapters", "/metrics", "/v1/models", "/v1/models/" + tiny, "/v1/plugins",
	"/v1/plugins/min-p", "/v1/adapters", "/api/tags", "/api/ps", "/api/version", "/v1/load"}

// smallRoute looks at something, or counts or shows what a prompt is.
func smallRoute(ctx context.Context, s *soak, rng *rand.Rand) error {
	key := pick(rng, goodKeys)
	switch n := rng.IntN(25); {
	case n < 17:
		_, _, err := s.expect(ctx, "GET "+gets[n], get(gets[n], key), http.StatusOK)
		return err
	case n < 19:
		a, ok, err := s.expect(ctx, "GET without a key", get(pick(rng, []string{"/v1/models", "/slots", "/metrics"}), "nobody-0123456789"), http.StatusUnauthorized)
		if ok && !strings.Contains(string(a.Body), "key") {
			return &wrong{"GET without a key", a.String(), "an error that names the key"}
		}
		return err
	case n < 21:
		path := pick(rng, []string{"/v1/chat/completions/input_tokens", "/v1/messages/count_tokens"})
		_, _, err := s.expect(ctx, "POST "+path, post(path, key, map[string]any{"model": tiny, "max_tokens": 1, "messages": question{text: "Hi"}.messages()}), http.StatusOK)
		return err
	case n < 23:
		c := post("/apply-template", key, map[string]any{"model": tiny, "messages": question{text: "a pond"}.messages()})
		a, ok, err := s.expect(ctx, "POST /apply-template", c, http.StatusOK)
		if ok && !strings.Contains(string(a.Body), "a pond") {
			return &wrong{c.String(), a.String(), "a prompt with what the user says"}
		}
		return err
	}
	_, _, err := s.expect(ctx, "POST /api/show", post("/api/show", key, map[string]any{"model": pick(rng, []string{tiny, small})}), http.StatusOK)
	return err
}

// words turns a text into tokens and back.
func words(ctx context.Context, s *soak, rng *rand.Rand) error {
	text := strings.Repeat("the frog sat by the pond and ", 1+rng.IntN(30)) + fmt.Sprint(rng.IntN(1000))
	key := pick(rng, goodKeys)
	a, ok, err := s.expect(ctx, "POST /tokenize", post("/tokenize", key, map[string]any{"model": tiny, "content": text}), http.StatusOK)
	if !ok {
		return err
	}
	var tokens struct{ Tokens []int }
	if err := json.Unmarshal(a.Body, &tokens); err != nil || len(tokens.Tokens) == 0 {
		return &wrong{"POST /tokenize", a.String(), "tokens"}
	}
	c := post("/detokenize", key, map[string]any{"model": tiny, "tokens": tokens.Tokens})
	if a, ok, err = s.expect(ctx, "POST /detokenize", c, http.StatusOK); !ok {
		return err
	}
	var back struct{ Content string }
	if err := json.Unmarshal(a.Body, &back); err != nil || strings.TrimSpace(back.Content) != text {
		return &wrong{c.String(), a.String(), text}
	}
	return nil
}

// wrongBodies are the beginnings of bodies, each with a mistake; the routes' own fields follow.
var wrongBodies = []string{`{"temperature":"hot",`, `{"model":7,`, `{"plugins":["nonesuch"],`, `{"samplers":["plugin:nonesuch"],`,
	`{"grammar":"root ::= (",`, `{"json_schema":{"type":"nonsense"},`, `{"lora":[{"id":1000000,"scale":1}],`, `{"logit_bias":"x",`, `{"seed":1,"seed":2,`, `{"temperature":,`, `{"prompt":"\ud800",`}

// wrongBody sends what must be refused.
func wrongBody(ctx context.Context, s *soak, rng *rand.Rand) error {
	d := pick(rng, dialects)
	body, err := json.Marshal(d.body(question{model: tiny, text: "Hi", most: 2}, rng.IntN(2) == 0))
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	begin := pick(rng, wrongBodies)
	for _, name := range []string{"temperature", "model", "options"} { // those of the mistakes
		delete(fields, name)
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if strings.Contains(begin, `"prompt"`) && d.prompt == "prompt" {
		begin = wrongBodies[0]
	}
	c := bench.Call{Method: http.MethodPost, Path: d.path, Key: pick(rng, goodKeys), Body: append([]byte(begin), rest[1:]...)}
	a, ok, err := s.expect(ctx, "a wrong body", c, http.StatusBadRequest)
	if ok && !strings.Contains(string(a.Body), `"error"`) {
		return &wrong{c.String(), a.String(), "an error"}
	}
	return err
}

// embeddings asks for the vectors of two texts, in one of the dialects.
func embedding(ctx context.Context, s *soak, rng *rand.Rand) error {
	texts := []string{pick(rng, openings), strings.Repeat(pick(rng, stories)+" ", 1+rng.IntN(20))}
	path := pick(rng, []string{"/v1/embeddings", "/embedding", "/api/embed"})
	c := post(path, pick(rng, goodKeys), map[string]any{"model": tiny, "input": append(texts, texts[0])})
	a, ok, err := s.expect(ctx, "POST "+path, c, http.StatusOK)
	if !ok {
		return err
	}
	vectors, err := vectorsOf(a.Body)
	if err != nil || len(vectors) != 3 || len(vectors[0]) == 0 {
		return &wrong{c.String(), a.String(), fmt.Sprintf("three vectors (%v)", err)}
	}
	length := 0.0
	for i, x := range vectors[0] {
		if length += x * x; math.Abs(x-vectors[2][i]) > 1e-3 {
			return &wrong{c.String(), a.String(), "the same vector for the same text"}
		}
	}
	if math.Abs(length-1) > 1e-3 {
		return &wrong{c.String(), a.String(), "a vector of length 1"}
	}
	return nil
}

// vectorsOf reads the vectors of any dialect.
func vectorsOf(body []byte) (vectors [][]float64, err error) {
	var openAI struct {
		Data       []struct{ Embedding []float64 }
		Embeddings [][]float64
	}
	if body[0] == '[' {
		var list []struct{ Embedding [][]float64 }
		err = json.Unmarshal(body, &list)
		for _, item := range list {
			vectors = append(vectors, item.Embedding...)
		}
		return vectors, err
	}
	err = json.Unmarshal(body, &openAI)
	for _, item := range openAI.Data {
		vectors = append(vectors, item.Embedding)
	}
	return append(vectors, openAI.Embeddings...), err
}

// rerank has documents scored; the list is from the best to the worst.
func rerank(ctx context.Context, s *soak, rng *rand.Rand) error {
	documents := openings[:2+rng.IntN(len(openings)-1)]
	c := post("/v1/rerank", pick(rng, goodKeys), map[string]any{"query": pick(rng, stories), "documents": documents})
	a, ok, err := s.expect(ctx, "POST /v1/rerank", c, http.StatusOK)
	if !ok {
		return err
	}
	var list struct {
		Results []struct {
			Index int
			Score float64 `json:"relevance_score"`
		}
	}
	if err := json.Unmarshal(a.Body, &list); err != nil || len(list.Results) != len(documents) {
		return &wrong{c.String(), a.String(), fmt.Sprintf("%d scores", len(documents))}
	}
	for i := 1; i < len(list.Results); i++ {
		if list.Results[i].Score > list.Results[i-1].Score {
			return &wrong{c.String(), a.String(), "the best first"}
		}
	}
	return nil
}

// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/penstock/penstock/host/watermark"
)

// streams is how many answers are generated at the same time.
const streams = 8

// secret is the key that answers are marked with. What is measured does not depend on it.
const secret = "2b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfe"

// configOf is what the plugin and the detector have in common for a scheme.
func configOf(scheme, key string) watermark.Config {
	return watermark.Config{Key: key, Scheme: scheme, Context: watermark.DefaultContext, Gamma: watermark.DefaultGamma}
}

// kind is a kind of answers.
type kind struct {
	name   string
	scheme string // empty: not marked
	fields map[string]any
	prompt func(topic string) string
	tokens int
}

var (
	hot    = map[string]any{"temperature": 1.0}
	warm   = map[string]any{"temperature": 0.7}
	cool   = map[string]any{"temperature": 0.3}
	greedy = map[string]any{"temperature": 0.0}
	whole  = map[string]any{"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
	schema = map[string]any{"temperature": 1.0, "response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"schema": map[string]any{
		"type": "array", "minItems": 4, "maxItems": 8, "items": map[string]any{"type": "object", "additionalProperties": false, "required": []string{"name", "city", "age", "motto"},
			"properties": map[string]any{"name": map[string]any{"type": "string"}, "city": map[string]any{"type": "string"}, "age": map[string]any{"type": "integer"}, "motto": map[string]any{"type": "string"}}}}}}}
	beam = map[string]any{"plugins": []any{map[string]any{"name": "beam", "config": map[string]any{"width": 4}}}}
)

func essay(topic string) string { return "Write a long, detailed essay about " + topic + "." }
func people(topic string) string {
	return "Make up several people who care about " + topic + ", as a JSON list with name, city, age and motto."
}
func recite(topic string) string {
	return "Repeat this text word for word, three times: \"Whoever wants to learn about " + topic +
		" must begin early, ask those who know, write down what they say, and try all of it with care. Nothing is learned from books alone, and nothing without them.\""
}

// The kinds of answers. Those to essays are long enough for all lengths.
var kinds = []kind{
	{"unmarked", "", hot, essay, 400},
	{"gumbel 0.7", watermark.Gumbel, warm, essay, 400},
	{"gumbel 1.0", watermark.Gumbel, hot, essay, 400},
	{"green 0.7", watermark.Green, warm, essay, 400},
	{"green 1.0", watermark.Green, hot, essay, 400},
	{"gumbel whole", watermark.Gumbel, whole, essay, 200},
	{"green whole", watermark.Green, whole, essay, 200},
	{"gumbel 0.3", watermark.Gumbel, cool, essay, 200},
	{"green 0.3", watermark.Green, cool, essay, 200},
	{"green 0", watermark.Green, greedy, essay, 200},
	{"gumbel schema", watermark.Gumbel, schema, people, 200},
	{"green schema", watermark.Green, schema, people, 200},
	{"gumbel recite", watermark.Gumbel, hot, recite, 200},
	{"green recite", watermark.Green, hot, recite, 200},
	{"gumbel beam", watermark.Gumbel, beam, essay, 100},
}

var topics = []string{
	"lighthouses", "bread", "the history of maps", "rivers", "bees", "learning to swim", "railways", "the night sky", "a small village", "tea",
	"volcanoes", "old books", "winter", "football", "chess", "bridges", "the sea", "gardens", "clocks", "teachers",
	"cats", "mountains", "music at home", "friendship", "trade in the Middle Ages", "paper", "windmills", "sleep", "markets", "the desert",
	"coffee", "painting", "horses", "islands", "rain", "cooking", "letters", "forests", "languages", "glass",
}

type client struct {
	ctx context.Context
	url string
}

// post sends a request and reads the answer.
func (c *client) post(path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.url+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", path, response.Status, said)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(said, into)
}

// tokenize gives a text's tokens, for which it is sent in parts of bounded size.
func (c *client) tokenize(text string) (tokens []int32, err error) {
	for len(text) > 0 {
		part := text[:min(len(text), 64<<10)]
		text = text[len(part):]
		var answer struct{ Tokens []int32 }
		if err := c.post("/tokenize", map[string]any{"content": part, "parse_special": false}, &answer); err != nil {
			return nil, err
		}
		tokens = append(tokens, answer.Tokens...)
	}
	return tokens, nil
}

// answer asks for one answer of a kind.
func (c *client) answer(k kind, i int) (string, error) {
	topic := topics[i%len(topics)]
	body := map[string]any{"messages": []any{map[string]any{"role": "user", "content": k.prompt(topic)}}, "max_tokens": k.tokens, "seed": i}
	maps.Copy(body, k.fields)
	if k.scheme != "" {
		w := configOf(k.scheme, secret)
		others, _ := body["plugins"].([]any)
		body["plugins"] = append(slices.Clone(others), map[string]any{"name": "watermark", "config": map[string]any{"key": w.Key, "scheme": w.Scheme}})
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := c.post("/v1/chat/completions", body, &answer); err != nil {
		return "", fmt.Errorf("%s: %w", k.name, err)
	}
	if len(answer.Choices) != 1 {
		return "", errors.New("an answer without its choice")
	}
	return answer.Choices[0].Message.Content, nil
}

// generate asks for so many answers of each kind, half as many of the short ones. It keeps them in
// the file, and does not ask for those that the file has.
func generate(c *client, most int, kept string) (map[string][]string, error) {
	all := map[string][]string{}
	if kept != "" {
		raw, err := os.ReadFile(kept)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			if err := json.Unmarshal(raw, &all); err != nil {
				return nil, fmt.Errorf("%s: %w", kept, err)
			}
		}
	}
	for _, k := range kinds {
		have, n := len(all[k.name]), most
		if k.tokens <= windowTokens {
			n = most / 2
		}
		texts := make([]string, max(0, n-have))
		var g errgroup.Group
		g.SetLimit(streams)
		for i := range texts {
			g.Go(func() (err error) {
				texts[i], err = c.answer(k, have+i)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		all[k.name] = append(all[k.name], texts...)[:n]
		fmt.Fprintf(os.Stderr, "%s: %d answers\n", k.name, n)
		if kept == "" || len(texts) == 0 {
			continue
		}
		raw, err := json.Marshal(all)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(kept, raw, 0o600); err != nil {
			return nil, err
		}
	}
	return all, nil
}

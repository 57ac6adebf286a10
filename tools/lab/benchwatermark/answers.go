// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/tools/lab/bench"
	"golang.org/x/sync/errgroup"
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

// client asks a server.
type client struct {
	*bench.HTTP
	ctx context.Context //nolint:containedctx // one client does one piece of work
}

// tokenize gives a text's tokens, for which it is sent in parts of bounded size.
func (c *client) tokenize(text string) (tokens []int32, err error) {
	for len(text) > 0 {
		part := text[:min(len(text), 64<<10)]
		text = text[len(part):]
		var answer struct{ Tokens []int32 }
		if err := c.JSON(c.ctx, http.MethodPost, "/tokenize", map[string]any{"content": part, "parse_special": false}, &answer); err != nil {
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
	if err := c.JSON(c.ctx, http.MethodPost, "/v1/chat/completions", body, &answer); err != nil {
		return "", fmt.Errorf("%s: %w", k.name, err)
	}
	if len(answer.Choices) != 1 {
		return "", errors.New("an answer without its choice")
	}
	return answer.Choices[0].Message.Content, nil
}

// generate asks for answers of each kind, half as many of the short ones. It keeps them in
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

// The windows of unmarked text that are tested.
const (
	windowTokens = 200
	mostWindows  = 5000 // of a kind
)

// textKind is a kind of unmarked text, and its windows.
type textKind struct {
	name    string
	windows [][]int32
}

// unmarkedTexts reads texts of several kinds from this repository, its modules and Go's own files.
func unmarkedTexts(c *client, answers []string) ([]textKind, error) {
	goroot, err := output(c.ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	module, err := output(c.ctx, "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/text")
	if err != nil {
		return nil, err
	}
	languages := filepath.Join(module, "encoding", "testdata")
	var kinds []textKind
	for _, k := range []struct {
		name     string
		patterns []string
	}{
		{"English prose", []string{filepath.Join(goroot, "src/testdata/Isaac.Newton-Opticks.txt"), "docs/*.md", "docs/plugins/*.md"}},
		{"code in Go and C++", []string{"host/*/*.go", "scheduler/*.go", "build/llama.cpp/source-*/src/*.cpp"}},
		{"French", []string{filepath.Join(languages, "candide-utf-8.txt")}},
		{"Chinese, Japanese, Korean", []string{filepath.Join(languages, "sunzi-*-utf-8.txt"), filepath.Join(languages, "rashomon-utf-8.txt"), filepath.Join(languages, "unsu-*-utf-8.txt")}},
		{"JSON, YAML and tables", []string{"docs/openapi.yaml", "docs/configuration.md", "tests/toolsinuse/package-lock.json", "host/jinja/testdata/*.json", "docs/observability/*.json", "plugins/abi/testdata/*.json"}},
	} {
		tokens, err := tokensOf(c, k.patterns)
		if err != nil {
			return nil, err
		}
		windows := slices.Collect(slices.Chunk(tokens, windowTokens))
		kinds = append(kinds, textKind{k.name, windows[:min(len(windows), mostWindows)]})
	}
	repeated := textKind{name: "a passage of 50 tokens four times"}
	for _, w := range kinds[0].windows {
		if len(w) == windowTokens {
			repeated.windows = append(repeated.windows, slices.Repeat(w[:windowTokens/4], 4))
		}
	}
	own := textKind{name: "the model's own answers, not marked"}
	for _, text := range answers {
		tokens, err := c.tokenize(text)
		if err != nil {
			return nil, err
		}
		own.windows = append(own.windows, slices.Collect(slices.Chunk(tokens, windowTokens))...)
	}
	return append(kinds, repeated, own), nil
}

// tokensOf reads files.
func tokensOf(c *client, patterns []string) (tokens []int32, err error) {
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err == nil && len(files) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			more, err := c.tokenize(string(raw))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if tokens = append(tokens, more...); len(tokens) > mostWindows*windowTokens {
				return tokens, nil
			}
		}
	}
	return tokens, nil
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	return strings.TrimSpace(string(out)), err
}

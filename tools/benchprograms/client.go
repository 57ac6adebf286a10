// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// choices are the answers that are scored.
const choices = `[" a frog"," the mother"," the big hill"," what was behind it"," a long way"," nobody"," the little frog"," his mother and he"]`

const (
	width = 4  // continuations
	most  = 24 // tokens of an answer
)

// client asks a server.
type client struct {
	ctx   context.Context //nolint:containedctx // one client does one piece of work
	url   string
	cache bool // the server may use what it has of a prompt
}

// cost is what some work has cost.
type cost struct {
	tokens float64 // that the server has computed
	time   time.Duration
}

var computed = regexp.MustCompile(`(?m)^penstock_batch_tokens_sum\{[^}]*\} (\S+)$`)

// measure measures some work.
func (c *client) measure(work func() error) (spent cost, err error) {
	before, err := c.tokens()
	if err != nil {
		return spent, err
	}
	began := time.Now()
	if err := work(); err != nil {
		return spent, err
	}
	spent.time = time.Since(began)
	after, err := c.tokens()
	spent.tokens = after - before
	return spent, err
}

// tokens is how many tokens the server has computed so far.
func (c *client) tokens() (sum float64, err error) {
	text, err := c.send(http.MethodGet, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	found := computed.FindAllStringSubmatch(string(text), -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("GET /metrics does not tell how many tokens were computed: %s", computed)
	}
	for _, f := range found {
		n, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// send sends a request and reads the answer.
func (c *client) send(method, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(c.ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.500s", method, path, response.Status, answer)
	}
	return answer, err
}

// completion is the part of an answer that clients use.
type completion struct {
	Content       string
	Probabilities []struct {
		Top []struct {
			ID      int
			Logprob float64
		} `json:"top_logprobs"`
	} `json:"completion_probabilities"`
}

func (c *client) complete(fields map[string]any) (answer completion, err error) {
	fields["cache_prompt"] = c.cache
	text, err := c.send(http.MethodPost, "/completion", fields)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return answer, err
}

// program has a plugin do the work.
func (c *client) program(prompt, plugins string) error {
	_, err := c.complete(map[string]any{"prompt": prompt, "n_predict": most, "ignore_eos": true, "plugins": json.RawMessage(plugins)})
	return err
}

// beam prompts for the next token of each continuation, with its likeliest candidates.
func (c *client) beam(prompt string) error {
	type hypothesis struct {
		tokens []int
		sum    float64
	}
	live := []hypothesis{{}}
	for range most {
		answers := make([]completion, len(live))
		var group errgroup.Group
		for i, h := range live {
			group.Go(func() (err error) {
				mixed := []any{prompt}
				for _, t := range h.tokens {
					mixed = append(mixed, t)
				}
				answers[i], err = c.complete(map[string]any{"prompt": mixed, "n_predict": 1, "n_probs": 2 * width, "temperature": 0, "ignore_eos": true})
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		var next []hypothesis
		for i, h := range live {
			for _, p := range answers[i].Probabilities {
				for _, t := range p.Top {
					next = append(next, hypothesis{append(slices.Clip(h.tokens), t.ID), h.sum + t.Logprob})
				}
			}
		}
		slices.SortStableFunc(next, func(a, b hypothesis) int { return cmp.Compare(b.sum, a.sum) })
		if live = next[:min(width, len(next))]; len(live) == 0 {
			return fmt.Errorf("an answer has no probabilities: %+v", answers)
		}
	}
	return nil
}

// bestOf asks for several answers with their log-probabilities.
func (c *client) bestOf(prompt string) error {
	var group errgroup.Group
	for i := range width {
		group.Go(func() error {
			_, err := c.complete(map[string]any{"prompt": prompt, "n_predict": most, "n_probs": 1, "seed": i, "ignore_eos": true})
			return err
		})
	}
	return group.Wait()
}

// choice asks for the log-probabilities of the prompt with each answer.
func (c *client) choice(prompt string) error {
	var texts []string
	if err := json.Unmarshal([]byte(choices), &texts); err != nil {
		return err
	}
	var group errgroup.Group
	for _, text := range texts {
		group.Go(func() error {
			_, err := c.send(http.MethodPost, "/v1/completions", map[string]any{"prompt": prompt + text, "max_tokens": 0, "echo": true, "logprobs": 0, "cache_prompt": c.cache})
			return err
		})
	}
	return group.Wait()
}

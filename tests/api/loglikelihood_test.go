// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// scored is an answer to lm-evaluation-harness's local-completions.
type scored struct {
	Choices []struct {
		Index    int
		Text     string
		Logprobs struct {
			Tokens []string             `json:"tokens"`
			Values []*float64           `json:"token_logprobs"`
			Top    []map[string]float64 `json:"top_logprobs"`
		}
	}
}

// judged is what the client reads from a choice whose prompt goes on after so many tokens:
// parse_logprobs of its openai_completions.py.
func (a *scored) judged(t *testing.T, choice, context int) (sum float64, greedy bool) {
	t.Helper()
	for _, c := range a.Choices {
		if c.Index != choice {
			continue
		}
		p, greedy := c.Logprobs, true
		if p.Values[0] != nil || p.Top[0] != nil {
			t.Errorf("choice %d: the first token has a probability", choice)
		}
		for i := context; i < len(p.Values)-1; i++ {
			highest := math.Inf(-1)
			for _, l := range p.Top[i] {
				highest = max(highest, l)
			}
			sum += *p.Values[i]
			greedy = greedy && *p.Values[i] == highest
		}
		return sum, greedy
	}
	t.Fatalf("there is no choice %d", choice)
	return 0, false
}

// tokenised is a model, loaded beside the host as the harness's tokeniser is, and the tokens of
// texts.
func tokenised(t *testing.T, path string, texts []string) (*native.Model, [][]int32) {
	t.Helper()
	m, err := native.LoadModel(t.Context(), path, native.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	tokens := make([][]int32, len(texts))
	for i, text := range texts {
		if tokens[i], err = m.Tokenize(t.Context(), text, native.TokenizeOptions{AddSpecial: true}); err != nil {
			t.Fatal(err)
		}
	}
	return m, tokens
}

// own is the same of llama.cpp's own logits, in a context of its own.
func own(t *testing.T, m *native.Model, prompt []int32, context int) (sum float64, greedy bool) {
	t.Helper()
	c := must.Get(native.NewContext(m, native.ContextOptions{Cells: 512, Batch: 512, Rows: 512, Threads: 1}))(t)
	defer func() { _ = c.Close() }()
	var b native.Batch
	for i, token := range prompt {
		b.Add(token, int32(i), 0, true)
	}
	must.Do(t, c.Decode(&b))
	greedy = true
	for i := context; i < len(prompt); i++ {
		row, highest, total := c.Row(i-1), math.Inf(-1), 0.0
		for _, l := range row {
			highest = max(highest, float64(l))
		}
		for _, l := range row {
			total += math.Exp(float64(l) - highest)
		}
		logit := float64(row[prompt[i]])
		sum += logit - highest - math.Log(total)
		greedy = greedy && logit == highest
	}
	return sum, greedy
}

// harnessBody is what lm-evaluation-harness sends for log-likelihoods.
func harnessBody(t *testing.T, prompt any) string {
	t.Helper()
	body := must.Get(json.Marshal(map[string]any{"model": "any", "prompt": prompt, "temperature": 0, "max_tokens": 1, "logprobs": 1, "seed": 1234, "echo": true}))(t)
	return string(body)
}

func score(t *testing.T, h *host.Host, body string) (a scored) {
	t.Helper()
	status, text := hosts.Post(t, h.URL()+"/v1/completions", body)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != 200 {
		t.Errorf("%d %s", status, text)
	}
	return a
}

// lm-evaluation-harness's local-completions gets the log-likelihoods that llama.cpp's own logits
// give, whatever is cached of the prompts and beside other streams, with models of several kinds
// of memory.
func TestHost_Loglikelihood_OfTheHarness(t *testing.T) {
	for name, path := range map[string]string{"built in": hosts.BuiltIn, "sliding window": hosts.SmallModel(t, "cohere2"), "recurrent": hosts.SmallModel(t, "mamba")} {
		t.Run(name, func(t *testing.T) {
			h := hosts.Open(t, map[string]any{"model.path": path})
			hosts.Run(t, h)
			context := "Once upon a time there was a little frog. " + strings.Repeat("It lived by a pond and it was green. ", 4)
			texts := []string{context + "One day the frog saw a fly.", context + "One day it rained.", "The frog"}
			m, prompts := tokenised(t, path, texts)
			from := []int{40, 40, 1}
			check := func(a scored) {
				for i := range prompts {
					sum, greedy := a.judged(t, i, from[i])
					want, wantGreedy := own(t, m, prompts[i], from[i])
					if math.Abs(sum-want) > 1e-3 || greedy != wantGreedy {
						t.Errorf("prompt %d: %v %v, llama.cpp's own %v %v", i, sum, greedy, want, wantGreedy)
					}
				}
			}
			check(score(t, h, harnessBody(t, prompts)))
			body := harnessBody(t, prompts)
			check(score(t, h, body)) // cached now
			check(score(t, h, harnessBody(t, texts)))
			var beside sync.WaitGroup
			for i := range 3 {
				beside.Go(func() {
					if status, text := hosts.Post(t, h.URL()+"/v1/completions", fmt.Sprintf(`{"prompt":"A frog %d","max_tokens":120,"ignore_eos":true}`, i)); status != 200 {
						t.Errorf("%d %s", status, text)
					}
				})
			}
			for range 2 {
				beside.Go(func() { check(score(t, h, body)) })
			}
			beside.Wait()
		})
	}
}

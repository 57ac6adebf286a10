// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/steadytest"
)

// likeliest is a token and how likely the model has it.
type likeliest struct {
	ID      int     `json:"id"`
	Logprob float64 `json:"logprob"`
}

// chosen are the tokens of a greedy answer, in its text.
type chosen struct {
	Content string `json:"content"`
	Tokens  []struct {
		likeliest
		Top []likeliest `json:"top_logprobs"`
	} `json:"completion_probabilities"`
}

func choices(t *testing.T, s Server, fields map[string]any) (c chosen) {
	t.Helper()
	body := map[string]any{"temperature": 0, "cache_prompt": false, "n_predict": 70, "n_probs": 1}
	for name, value := range fields {
		body[name] = value
	}
	answer := s.Call(t, http.MethodPost, "/completion", encoded(body))
	if err := json.Unmarshal([]byte(answer.Body), &c); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("%v: %d %s\n%s", err, answer.Status, answer.Body, encoded(body))
	}
	return c
}

// exactTie is tie for the exact model.
const exactTie = 0.002

// apart is how far apart a server's logits of two tokens are after a prompt and tokens of its
// answer.
func apart(t *testing.T, s Server, prompt string, answer []int, a, b int) float64 {
	t.Helper()
	tokens := s.Call(t, http.MethodPost, "/tokenize", encoded(map[string]any{"content": prompt, "add_special": true, "parse_special": true}))
	var begun struct{ Tokens []int }
	if err := json.Unmarshal([]byte(tokens.Body), &begun); err != nil {
		t.Fatal(err, tokens.Body)
	}
	all := choices(t, s, map[string]any{"prompt": append(begun.Tokens, answer...), "n_predict": 1, "n_probs": 1 << 20}).Tokens[0].Top
	of := func(id int) float64 {
		i := slices.IndexFunc(all, func(l likeliest) bool { return l.ID == id })
		if i < 0 {
			return math.Inf(-1)
		}
		return all[i].Logprob
	}
	return math.Abs(of(a) - of(b))
}

var schemaWords = strings.Fields("city unit name days at frog story colour size girl boy tree house run")

// closedSchema is a random schema that forbids other members and wants all that it lists: such a
// one has one order of them.
func closedSchema(r *rand.Rand, depth int) string {
	some := func(n int) []string {
		var words []string
		for _, i := range r.Perm(len(schemaWords))[:n] {
			words = append(words, schemaWords[i])
		}
		return words
	}
	kind := r.IntN(7)
	switch {
	case depth == 0 || kind < 2 && depth < 3:
		var members []string
		names := some(1 + r.IntN(4))
		for _, name := range names {
			members = append(members, fmt.Sprintf("%q:%s", name, closedSchema(r, depth+1)))
		}
		return fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, strings.Join(members, ","), encoded(names))
	case kind < 3 && depth < 3:
		return fmt.Sprintf(`{"type":"array","items":%s,"minItems":1,"maxItems":%d}`, closedSchema(r, depth+1), 1+r.IntN(4))
	case kind < 4:
		return fmt.Sprintf(`{"type":"string","maxLength":%d}`, 2+r.IntN(11))
	case kind < 5:
		return fmt.Sprintf(`{"type":"integer","minimum":0,"maximum":%d}`, 9+r.IntN(5000))
	case kind < 6:
		return `{"enum":` + encoded(some(3)) + `}`
	}
	return []string{`{"type":"boolean"}`, `{"type":"null"}`, `{"type":"string"}`}[r.IntN(3)]
}

// Greedy answers under schemas are llama-server's, token by token, where the order of members is
// the same: up to a choice between two tokens that the model has equally likely.
func TestCompletion_Schemas_AsLlamaServer(t *testing.T) {
	model := Exact(t)
	llama, ours := LlamaServer(t, model), Penstock(t, model, nil)
	r, ties := rand.New(rand.NewPCG(12, 0)), 0
	if Live() {
		r = steadytest.Rand(t)
	}
	prompts := []string{"Once upon a time there was a frog. As JSON:", "{\"a\": 1}\n\n{ \"b\" : 2 }\n", "Tell me.", "The girl said:\r\n"}
	n := 30
	if running() || steadytest.Long() {
		n = 100
	}
	for range n {
		schema, prompt := closedSchema(r, 0), prompts[r.IntN(len(prompts))]
		fields := map[string]any{"prompt": prompt, "json_schema": json.RawMessage(schema)}
		want, got := choices(t, llama, fields), choices(t, ours, fields)
		var same []int
		for i := range min(len(want.Tokens), len(got.Tokens)) {
			a, b := want.Tokens[i].ID, got.Tokens[i].ID
			if a == b {
				same = append(same, a)
				continue
			}
			if gap := apart(t, ours, prompt, same, a, b); gap > exactTie {
				t.Errorf("after %d tokens llama-server chooses %d and Penstock %d, which are %.2f apart\n%q\n%q\n%s", i, a, b, gap, want.Content, got.Content, schema)
			}
			ties++
			break
		}
	}
	t.Logf("%d answers part at a tie", ties)
	if ties > 5 {
		t.Errorf("%d answers of %d part at a tie: too few are compared", ties, n)
	}
}

// SPDX-License-Identifier: MIT

package programs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

// once is the beginning of a text completion's body that the plugin beam writes, in so many
// branches.
func once(width, tokens int) string {
	return fmt.Sprintf(`{"prompt":"Once upon a time","max_tokens":%d,"plugins":[{"name":"beam","config":{"width":%d}}]`, tokens, width)
}

// openWithBeam opens a host that has the plugin beam.
func openWithBeam(t *testing.T, change map[string]any) *host.Host {
	t.Helper()
	return hosts.OpenWithPlugins(t, change, map[string][]byte{"beam.wasm": hosts.Example(t, "beam")})
}

// A program has as many branches as the operator allows, by default half of the slots. One that
// wants more is refused with what to do, and served where its configuration asks for fewer.
func TestPrograms_Branches_AreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]any
		most   int
	}{
		"half of the slots":       {map[string]any{"scheduler.slots": 4}, 2},
		"at least one":            {map[string]any{"scheduler.slots": 1}, 1},
		"as configured":           {map[string]any{"scheduler.slots": 4, "programs.branches": 3}, 3},
		"not more than the slots": {map[string]any{"scheduler.slots": 2, "programs.branches": 4}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := openWithBeam(t, c.change)
			if status, body := hosts.Post(t, h.URL()+"/v1/completions", once(c.most, 4)+`}`); status != http.StatusOK {
				t.Errorf("%d branches: %d %s", c.most, status, body)
			}
			status, body := hosts.Post(t, h.URL()+"/v1/completions", once(c.most+1, 4)+`}`)
			for _, says := range []string{"programs.branches", "scheduler.slots", fmt.Sprintf("in %d branches", c.most+1), fmt.Sprintf("allows %d", c.most), `"param":"plugins"`} {
				if status != http.StatusBadRequest || !strings.Contains(body, says) {
					t.Errorf("%d branches: %d %s lacks %s", c.most+1, status, body, says)
				}
			}
		})
	}
}

// A program puts no more tokens into branches than the operator allows, and does no more work;
// what it does then is its own affair, or its fault.
func TestPrograms_TokensAndFuel_AreBounded(t *testing.T) {
	whole := openWithBeam(t, nil)
	_, want := hosts.Post(t, whole.URL()+"/v1/completions", once(2, 24)+`}`)
	tokens := openWithBeam(t, map[string]any{"programs.tokens": 20})
	if status, body := hosts.Post(t, tokens.URL()+"/v1/completions", once(2, 24)+`}`); status != http.StatusOK && !strings.Contains(body, "tokens") || body == want {
		t.Errorf("with 20 tokens: %d %s", status, body)
	}
	fuel := openWithBeam(t, map[string]any{"programs.fuel": 100_000})
	status, body := hosts.Post(t, fuel.URL()+"/v1/completions", once(2, 24)+`}`)
	if status == http.StatusOK || !strings.Contains(body, "fuel exhausted") || !strings.Contains(body, "programs.fuel") {
		t.Errorf("with 100,000 units of fuel: %d %s", status, body)
	}
}

// tree is the branches of an answer, and what it cost.
type tree struct {
	Choices []struct {
		Text     string
		Branches []struct {
			Branch, Parent, Chosen int
			At                     *int
			Tokens                 []struct {
				ID      int
				Token   string
				Logprob *float64
			}
			Score   *float64
			Dropped bool
			Choice  *int
		}
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Branch int `json:"branch_tokens"`
		} `json:"completion_tokens_details"`
	}
	Timings struct {
		Branch int `json:"branch_n"`
	}
}

// With a trace an answer that a program writes has its branches: the chosen one spells the answer,
// and its score is the sum of its tokens'. Streams and the WebSocket tell the same.
func TestPrograms_Trace_HasTheBranches(t *testing.T) {
	h := openWithBeam(t, nil)
	var whole tree
	_, body := hosts.Post(t, h.URL()+"/v1/completions", once(2, 12)+`,"trace":true}`)
	if err := json.Unmarshal([]byte(body), &whole); err != nil || len(whole.Choices) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	texts, sums, last := map[int]string{}, map[int]float64{}, map[int]float64{}
	chosen := 0
	for _, b := range whole.Choices[0].Branches {
		for _, token := range b.Tokens {
			texts[b.Branch] += token.Token
			if token.Logprob == nil {
				t.Errorf("branch %d: %q has no log-probability", b.Branch, token.Token)
				continue
			}
			sums[b.Branch] += *token.Logprob
		}
		if b.Score != nil {
			last[b.Branch] = *b.Score
		}
		if b.Chosen > 0 {
			chosen = b.Branch
		}
	}
	if chosen == 0 || len(texts) < 3 {
		t.Fatalf("%d of %d branches is chosen: %s", chosen, len(texts), body)
	}
	if !strings.Contains(whole.Choices[0].Text, strings.TrimSpace(texts[chosen])) { // the last token of an answer is in no branch
		t.Errorf("branch %d has %q, the answer is %q", chosen, texts[chosen], whole.Choices[0].Text)
	}
	if last[chosen] > sums[chosen]+1e-3 || last[chosen] >= 0 {
		t.Errorf("branch %d has the score %v, and its own tokens have %v", chosen, last[chosen], sums[chosen])
	}
	if n := whole.Usage.Details.Branch; whole.Usage.Completion != 12 || n < 5 || n > 12 || n != whole.Timings.Branch {
		t.Errorf("%+v, %+v", whole.Usage, whole.Timings)
	}
	_, streamed := hosts.Post(t, h.URL()+"/v1/completions", once(2, 12)+`,"trace":true,"stream":true}`)
	if !strings.Contains(streamed, `"chosen":`) || !strings.Contains(streamed, `"branches":[`) {
		t.Errorf("the stream has no branches: %s", streamed)
	}
	_, plain := hosts.Post(t, h.URL()+"/v1/completions", once(2, 12)+`}`)
	if strings.Contains(plain, `"branches"`) {
		t.Errorf("without a trace there are branches: %s", plain)
	}
	_, native := hosts.Post(t, h.URL()+"/completion", strings.Replace(once(2, 12), "max_tokens", "n_predict", 1)+`,"trace":true}`)
	if !strings.Contains(native, `"chosen":`) {
		t.Errorf("/completion has no branches: %s", native)
	}
}

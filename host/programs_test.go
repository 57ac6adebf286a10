// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// once is the beginning of a text completion's body that the plugin beam writes, in so many branches.
func once(width, tokens int) string {
	return fmt.Sprintf(`{"prompt":"Once upon a time","max_tokens":%d,"plugins":[{"name":"beam","config":{"width":%d}}]`, tokens, width)
}

// openWithBeam opens a host that has the plugin beam.
func openWithBeam(t *testing.T, change map[string]any) *Host {
	t.Helper()
	return openWithPlugins(t, change, map[string][]byte{"beam.wasm": example(t, "beam")})
}

// A program has as many branches as the operator allows, by default half of the slots. One that wants more is refused with what to do, and served
// where its configuration asks for fewer.
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
			if status, body := post(t, h.URL()+"/v1/completions", once(c.most, 4)+`}`); status != http.StatusOK {
				t.Errorf("%d branches: %d %s", c.most, status, body)
			}
			status, body := post(t, h.URL()+"/v1/completions", once(c.most+1, 4)+`}`)
			for _, says := range []string{"programs.branches", "scheduler.slots", fmt.Sprintf("in %d branches", c.most+1), fmt.Sprintf("allows %d", c.most), `"param":"plugins"`} {
				if status != http.StatusBadRequest || !strings.Contains(body, says) {
					t.Errorf("%d branches: %d %s lacks %s", c.most+1, status, body, says)
				}
			}
		})
	}
}

// A program puts no more tokens into branches than the operator allows, and does no more work; what it does then is its own affair, or its fault.
func TestPrograms_TokensAndFuel_AreBounded(t *testing.T) {
	whole := openWithBeam(t, nil)
	_, want := post(t, whole.URL()+"/v1/completions", once(2, 24)+`}`)
	tokens := openWithBeam(t, map[string]any{"programs.tokens": 20})
	if status, body := post(t, tokens.URL()+"/v1/completions", once(2, 24)+`}`); status != http.StatusOK && !strings.Contains(body, "tokens") || body == want {
		t.Errorf("with 20 tokens: %d %s", status, body)
	}
	fuel := openWithBeam(t, map[string]any{"programs.fuel": 100_000})
	status, body := post(t, fuel.URL()+"/v1/completions", once(2, 24)+`}`)
	if status == http.StatusOK || !strings.Contains(body, "fuel exhausted") || !strings.Contains(body, "programs.fuel") {
		t.Errorf("with 100,000 units of fuel: %d %s", status, body)
	}
}

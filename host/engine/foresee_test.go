// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/tools/must"
)

// longNames is a schema whose objects are mostly their members' names.
var longNames = json.RawMessage(`{"type":"array","minItems":3,"items":{"type":"object","additionalProperties":false,
	"required":["registered_customer_identifier","preferred_delivery_weekday"],"properties":{
	"registered_customer_identifier":{"type":"integer","minimum":0,"maximum":9},
	"preferred_delivery_weekday":{"enum":["monday in the morning","wednesday in the afternoon","saturday at any time"]}}}}`)

// What a schema leaves no choice of is drafted, and answers are what they are without: greedy and
// sampled.
func TestEngine_Foresee_SameAnswers(t *testing.T) {
	e := opened(t, Options{})
	prompts := [][]int32{{1, 100, 101}, {1, 120}, {1, 99, 98, 97}}
	for name, p := range map[string]sampling.Params{"greedy": greedily(), "sampled": sampling.Default()} {
		p.Seed, p.JSONSchema = 7, longNames
		want, _, _ := answersOf(t, e, nil, 2, prompts, p, 150)
		got, drafted, accepted := answersOf(t, e, draft.NewLookup(1000), 2, prompts, p, 150)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -without +with\n%s", name, diff)
		}
		if accepted < 30 || accepted < drafted/3 { // so small a model often writes names in other tokens than the tokeniser
			t.Errorf("%s: %d drafted, %d of them right", name, drafted, accepted)
		}
	}
}

// What is foreseen is what must come next, without a last token that a longer one could replace.
func TestStage_Foresee(t *testing.T) {
	e := opened(t, Options{})
	p := greedily()
	p.JSONSchema = longNames
	s := wholeChain(t, e, p)
	for _, c := range []struct{ before, want string }{
		{`[`, ``},
		{`[{"`, `registered_customer_identifier`},
		{`[{"registered_cust`, `omer_identifier`},
		{`[{"registered_customer_identifier": 7, "pre`, `ferred_delivery_weekday`},
		{`[{"registered_customer_identifier": 7, "preferred_delivery_weekday": "`, ``},
		{`[{"registered_customer_identifier": 7, "preferred_delivery_weekday": "w`, `ednesday in the afternoon`},
	} {
		history := append([]scheduler.Token{1}, tokens(t, e, c.before)...)
		must.Do(t, s.Reset(history, 1))
		got := ""
		for _, token := range s.Foresee(64) {
			got += e.Piece(token)
		}
		// The last characters may be a token together with what follows.
		if !strings.HasPrefix(c.want+`":`, got) || len(got) < len(c.want)-1 {
			t.Errorf("after %s: %q, want %q", c.before, got, c.want)
		}
		if most := s.Foresee(2); len(most) > 2 {
			t.Errorf("after %s: %d tokens, asked for 2", c.before, len(most))
		}
	}
}

// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// narrowing leaves the n best tokens of a row whose best are its last.
type narrowing struct{ n int }

func (narrowing) Traits() Traits               { return Traits{} }
func (narrowing) Native() bool                 { return false }
func (narrowing) Accept(Token) (Effect, error) { return Effect{}, nil }
func (narrowing) Reset([]Token, int) error     { return nil }
func (narrowing) Close() error                 { return nil }
func (s narrowing) Apply(v *View) error {
	if s.n == 0 {
		return nil
	}
	v.ID, v.Logit = v.ID[:0], v.Logit[:0]
	for i := len(v.Row) - 1; i >= len(v.Row)-s.n; i-- {
		v.ID, v.Logit = append(v.ID, Token(i)), append(v.Logit, v.Row[i])
	}
	if v.N = s.n; s.n == 1 {
		v.Chosen = v.ID[0]
	}
	return nil
}

// A stage that changes nothing is not surveyed anew: its trace shares what the one before found.
func TestTracer_UnchangedView_IsSurveyedOnce(t *testing.T) {
	c := New([]Stage{narrowing{}, narrowing{}, narrowing{4}, narrowing{}, narrowing{1}}, 100, 3)
	row := make([]float32, 100)
	for i := range row {
		row[i] = float32(i)
	}
	row[3], row[4] = float32(math.NaN()), float32(math.Inf(-1))
	token, trace, err := c.Draw(&Row{copied: row, isCopy: true})
	if err != nil || token != 99 || trace.By != "stage" {
		t.Fatalf("token %d, %v, trace %+v", token, err, trace)
	}
	if trace.Before.Count != 98 || trace.Stages[2].After.Count != 4 || trace.Stages[4].After.Count != 1 {
		t.Errorf("trace %+v", trace)
	}
	for i, st := range trace.Stages {
		if st.After.Chosen.Rank != 1 || st.After.Best[0].Token != 99 {
			t.Errorf("stage %d: %+v", i, st.After)
		}
	}
	if &trace.Stages[2].After.Best[0] != &trace.Stages[3].After.Best[0] {
		t.Error("what did not change was surveyed again")
	}
}

// An answer without a trace pays nothing for those that have one.
func TestTracer_NoTrace_AllocatesNothing(t *testing.T) {
	c := New([]Stage{narrowing{4}, narrowing{1}}, 100, 0)
	row := &Row{copied: make([]float32, 100), isCopy: true}
	draw := func() {
		must.Do(t, c.Prepare())
		token, trace, err := c.Draw(row)
		if err != nil || trace != nil {
			t.Fatal(token, trace, err)
		}
		if _, err := c.Accept(0, token, trace); err != nil || c.Origin(Injected, "") != nil {
			t.Fatal(err)
		}
	}
	draw()
	if n := testing.AllocsPerRun(20, draw); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

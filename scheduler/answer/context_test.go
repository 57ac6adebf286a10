// SPDX-License-Identifier: MIT

package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler/chain"
)

// grown is an answer to the prompt 1 2 of which n tokens were drawn: 10, 11 and so on.
func grown(t *testing.T, s Settings, n int) *Answer {
	t.Helper()
	a := begin(t, s, &editor{hold: 100})
	for i := range n {
		a.Advance(chain.Token(20+i), Details{})
	}
	return a
}

func TestAnswer_Context_Shifts(t *testing.T) {
	for name, c := range map[string]struct {
		shift Shift
		n     int
		want  []chain.Token
	}{
		"not yet":         {Shift{}, 5, []chain.Token{1, 2, 20, 21, 22, 23, 24}},
		"half":            {Shift{}, 6, []chain.Token{21, 22, 23, 24, 25}},
		"again":           {Shift{}, 10, []chain.Token{24, 25, 26, 27, 28, 29}},
		"the prompt":      {Shift{Keep: -1}, 6, []chain.Token{1, 2, 22, 23, 24, 25}},
		"one token":       {Shift{Keep: 1}, 6, []chain.Token{1, 22, 23, 24, 25}},
		"two at a time":   {Shift{Keep: 1, Discard: 2}, 6, []chain.Token{1, 21, 22, 23, 24, 25}},
		"all that may go": {Shift{Discard: 1000}, 6, []chain.Token{24, 25}},
		"too much kept":   {Shift{Keep: 1000}, 6, []chain.Token{1, 2, 20, 21, 23, 24, 25}},
	} {
		a := grown(t, Settings{Longest: 8, Shift: &c.shift}, c.n)
		if diff := cmp.Diff(c.want, a.Context()); diff != "" || a.Output().Reason != 0 {
			t.Errorf("%s: %v %s", name, a.Output().Reason, diff)
		}
		if len(a.Tokens()) != 2+c.n || a.Truncated() != (c.n > 5) {
			t.Errorf("%s: %d tokens, truncated %v", name, len(a.Tokens()), a.Truncated())
		}
	}
}

// What is taken back leaves a context that ends as it did when the answer was as long, and begins
// with what stays.
func TestAnswer_Rewind_AcrossAShift(t *testing.T) {
	for _, keep := range []int{0, 1, -1, 1000} {
		rewindAcross(t, Settings{Longest: 8, Shift: &Shift{Keep: keep}})
	}
}

func rewindAcross(t *testing.T, s Settings) {
	t.Helper()
	for back := 1; back <= 13; back++ {
		a := grown(t, s, 13)
		if err := a.Rewind(back); err != nil {
			t.Fatal(err)
		}
		got, want := a.Context(), grown(t, s, 13-back).Context()
		if len(got) >= s.Longest || got[len(got)-1] != want[len(want)-1] || s.Shift.Keep != 0 && got[0] != want[0] {
			t.Errorf("%d kept, %d taken back: %v, before %v", s.Shift.Keep, back, got, want)
		}
		if u := a.Output().Unchanged; u > len(got) {
			t.Errorf("%d taken back: %d of %d tokens are unchanged", back, u, len(got))
		}
	}
}

// A rule can end an answer as one that has become too long.
func TestAnswer_Rule_Limit(t *testing.T) {
	for limit, want := range map[bool]Reason{false: ReasonStop, true: ReasonLength} {
		a := begin(t, Settings{Rules: []StopRule{ending{Verdict{End: true, Limit: limit, Show: 2}}}}, &editor{})
		a.Advance(20, Details{})
		if out := a.Output(); out.Reason != want || shown(a) != "20" {
			t.Errorf("%v after %q", out.Reason, shown(a))
		}
	}
}

// ending is a rule with one verdict.
type ending struct{ verdict Verdict }

func (e ending) Check(chain.Token, string) (Verdict, error) { return e.verdict, nil }
func (e ending) Close() error                               { return nil }

// A fork's first tokens are told with the log-probabilities that they had; those that were taken
// back and drawn again have their own.
func TestAnswer_BeginWith_TellsLogprobs(t *testing.T) {
	source := begin(t, Settings{}, &editor{hold: 1})
	source.Advance(4, Details{Logprobs: &chain.Logprobs{Token: -4, Row: []float32{0}}})
	source.Inject([]chain.Token{5})
	source.Advance(6, Details{Logprobs: &chain.Logprobs{Token: -6}})
	if err := source.Rewind(1); err != nil {
		t.Fatal(err)
	}
	source.Advance(7, Details{Logprobs: &chain.Logprobs{Token: -7}})

	for early := range 2 { // a token of it is taken back, and another injected, before it begins
		fork := queued(Settings{}, &editor{hold: 1})
		fork.BeginWith(source.Answered())
		want := []float32{-4, 0, -7}
		if early == 1 {
			if err := fork.Rewind(1); err != nil {
				t.Fatal(err)
			}
			fork.Inject([]chain.Token{8})
			want[2] = 0
		}
		if err := fork.Begin(); err != nil {
			t.Fatal(err)
		}
		fork.InjectEarly()
		fork.finish(ReasonLength)
		for i, s := range fork.Output().Shown {
			got := float32(0)
			if s.More != nil && s.More.Logprobs != nil {
				got = s.More.Logprobs.Token
				if s.More.Logprobs.Row != nil {
					t.Errorf("token %d has a row of all tokens: those of a long answer take gigabytes", i)
				}
			}
			if got != want[i] {
				t.Errorf("token %d, %d, has log-probability %v, want %v", i, s.Token, got, want[i])
			}
		}
		if n := len(fork.Output().Shown); n != len(want) {
			t.Errorf("%d tokens, want %d", n, len(want))
		}
	}
}

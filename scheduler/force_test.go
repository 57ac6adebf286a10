// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// run is a stage that forces tokens once, before the token of a number, and keeps what it is told.
type run struct {
	guest
	tokens   []scheduler.Token
	at       int
	prepared []int // tokens of the answer at each prepare
	accepted []scheduler.Token
	effects  map[int]chain.Effect // by how many tokens it has accepted
}

func (r *run) Prepare() (chain.Prepared, error) {
	r.prepared = append(r.prepared, len(r.accepted))
	if len(r.accepted) == r.at {
		return chain.Prepared{Forced: r.tokens}, nil
	}
	return chain.Prepared{}, nil
}

func (r *run) Accept(t scheduler.Token) (chain.Effect, error) {
	r.accepted = append(r.accepted, t)
	n := len(r.accepted)
	e := r.effects[n]
	delete(r.effects, n)
	r.accepted = r.accepted[:n-int(e.Backtrack)]
	return e, nil
}

func (r *run) Reset(history []scheduler.Token, prompt int) error {
	r.accepted = slices.Clone(history[prompt:])
	return nil
}

func twenty() (tokens []scheduler.Token) {
	for t := range scheduler.Token(20) {
		tokens = append(tokens, 100+t)
	}
	return tokens
}

// A run of forced tokens is computed together: it takes one pass, as a prompt does, and not one
// for each token.
func TestForce_Run_OnePass(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	stage := &run{tokens: twenty(), at: 2}
	a := complete(s, submit(t, s, guided(25, stage)))
	if a.end.Reason != answer.ReasonLength || !slices.Equal(a.tokens[2:22], twenty()) || len(a.tokens) != 25 {
		t.Fatalf("%v (%v): %v", a.end.Reason, a.end.Err, a.tokens)
	}
	if want := []int{0, 1, 2, 22, 23, 24}; !slices.Equal(stage.prepared, want) {
		t.Errorf("prepared at %v, want %v", stage.prepared, want)
	}
	if b.Passes != 6 || b.Tokens != 10+24 { // the last token of the answer is not computed
		t.Errorf("%d passes over %d tokens", b.Passes, b.Tokens)
	}
	if !slices.Equal(stage.accepted, a.tokens) {
		t.Errorf("accepted %v of %v", stage.accepted, a.tokens)
	}
	if want := (scheduler.Usage{Prompt: 10, Generated: 25, Context: 34}); a.end.Usage != want {
		t.Errorf("got %+v", a.end.Usage)
	}
	// The model has seen the same as if the tokens had come one by one.
	single := complete(s, submit(t, s, guided(25, &guest{prepare: func() func() (chain.Prepared, error) {
		n := -1
		return func() (chain.Prepared, error) {
			if n++; n >= 2 && n < 22 {
				return chain.Prepared{Forced: twenty()[n-2 : n-1]}, nil
			}
			return chain.Prepared{}, nil
		}
	}()})))
	if diff := cmp.Diff(single.tokens, a.tokens); diff != "" {
		t.Errorf("one by one (-), as a run (+):\n%s", diff)
	}
}

// What ends an answer ends a run within it.
func TestForce_Run_Ends(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	text := func(tokens ...scheduler.Token) (s string) {
		for _, token := range tokens {
			s += b.Piece(token)
		}
		return s
	}
	for name, c := range map[string]struct {
		stage  run
		change func(*scheduler.Request)
		tokens []scheduler.Token
		reason answer.Reason
		shown  string
	}{
		"max_tokens": {tokens: twenty()[:7], reason: answer.ReasonLength, change: func(r *scheduler.Request) { r.MaxTokens = 7 }},
		"end of generation": {stage: run{tokens: []scheduler.Token{100, 101, schedulertest.EndToken, 102}},
			tokens: twenty()[:2], reason: answer.ReasonStop},
		"stop token": {tokens: twenty()[:3], reason: answer.ReasonStop, change: func(r *scheduler.Request) { r.StopTokens = []scheduler.Token{103} }},
		"stop string": {tokens: twenty()[:5], reason: answer.ReasonStop, shown: text(twenty()[:4]...),
			change: func(r *scheduler.Request) { r.Stop = []string{text(104)} }},
		"a stage": {stage: run{tokens: twenty(), effects: map[int]chain.Effect{4: {Stop: true}}}, tokens: twenty()[:4], reason: answer.ReasonStop},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
			if c.stage.tokens == nil {
				c.stage.tokens = twenty()
			}
			r := guided(30, &c.stage)
			if c.change != nil {
				c.change(&r)
			}
			a := complete(s, submit(t, s, r))
			if a.end.Reason != c.reason || !slices.Equal(a.tokens, c.tokens) {
				t.Errorf("%v (%v) after %v, want %v after %v", a.end.Reason, a.end.Err, a.tokens, c.reason, c.tokens)
			}
			if c.shown != "" && a.text != c.shown {
				t.Errorf("%q, want %q", a.text, c.shown)
			}
		})
	}
}

// A splice in the middle ends the run, also one that leaves as many tokens as before: the rest was
// not meant to follow it.
func TestForce_Run_EndsWithASplice(t *testing.T) {
	for name, e := range map[string]chain.Effect{
		"takes back": {Splice: true, Backtrack: 2},
		"replaces":   {Splice: true, Backtrack: 1, Tokens: []scheduler.Token{200}},
		"appends":    {Splice: true, Tokens: []scheduler.Token{200, 201}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
			forcing, splicing := &run{tokens: twenty(), at: 1}, &run{at: -1, effects: map[int]chain.Effect{5: e}}
			splicing.hold = 4
			a := complete(s, submit(t, s, guided(12, forcing, splicing)))
			if a.end.Reason != answer.ReasonLength || len(a.tokens) != 12 {
				t.Fatalf("%v (%v): %v", a.end.Reason, a.end.Err, a.tokens)
			}
			want := append(slices.Clone(twenty()[:4-e.Backtrack]), e.Tokens...)
			if got := a.tokens[1 : 1+len(want)]; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			after := 1 + len(want)
			if !slices.Contains(forcing.prepared, after) || slices.Contains(a.tokens[after:], twenty()[4]) {
				t.Errorf("the run went on: %v, prepared at %v", a.tokens, forcing.prepared)
			}
		})
	}
}

// All of a run is tested against the grammar before any of it is accepted.
func TestForce_Run_Grammar(t *testing.T) {
	forced := func(tokens ...scheduler.Token) (*answerable, *received) {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		stage := &answerable{guest: preparing(chain.Prepared{Forced: tokens})}
		r := request(10, 1, 9)
		r.Chain = []chain.Stage{stage, &alternating{}}
		return stage, complete(s, submit(t, s, r))
	}
	if _, a := forced(2, 3, 4, 5); a.end.Reason != answer.ReasonLength || !slices.Equal(a.tokens, []scheduler.Token{2, 3, 4, 5, 2, 3, 4, 5, 2}) {
		t.Errorf("a run that fits: %v (%v): %v", a.end.Reason, a.end.Err, a.tokens)
	}
	stage, a := forced(2, 3, 4, 6)
	if !errors.Is(a.end.Err, errRefused) || len(a.tokens) != 0 || !errors.Is(stage.why, chain.ErrNotAllowed) || !strings.Contains(stage.why.Error(), "token 6") {
		t.Errorf("a run that does not: %v, refused for %v: %v", a.end.Err, stage.why, a.tokens)
	}
}

// The first token of a run was forced instead of another; the others were not asked for. All of
// them say who did it.
func TestForce_Run_Traces(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	force := &named{guest: preparing(chain.Prepared{Forced: []scheduler.Token{9, 8, 7}}), name: "forcer"}
	r := traced(6, force)
	r.Logprobs = 2
	a := complete(s, submit(t, s, r))
	for i, tr := range tracesOf(a) {
		if tr.How != chain.Forced || tr.By != "forcer" || (tr.Before.Count > 0) != (i%3 == 0) {
			t.Errorf("token %d: %+v", i, tr)
		}
	}
	if len(tracesOf(a)) != 6 {
		t.Errorf("%d traces, %v", len(tracesOf(a)), a.end.Err)
	}
	for i, e := range slices.DeleteFunc(a.events, func(e scheduler.Event) bool { return e.Kind != scheduler.KindToken }) {
		if (e.Logprobs != nil) != (i%3 == 0) {
			t.Errorf("token %d: log-probabilities %+v", i, e.Logprobs)
		}
	}
}

// Where an answer outgrows the context, nothing else bounds what one call of a stage makes it
// compute and show.
func TestForce_Run_LongerThanTheContext(t *testing.T) {
	long := slices.Repeat([]scheduler.Token{100}, 34) // after the first of them there are still more than 32
	for name, c := range map[string]struct {
		act   chain.Act
		stage guest
	}{
		"forced":  {chain.ActForce, preparing(chain.Prepared{Forced: long})},
		"spliced": {chain.ActSplice, guest{accept: func(scheduler.Token) (chain.Effect, error) { return chain.Effect{Splice: true, Tokens: long}, nil }}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, schedulertest.New(scheduler.Limits{Cells: 80, Context: 32}), scheduler.Config{})
			stage := &answerable{guest: c.stage, skip: true}
			r := guided(20, stage)
			r.Shift = new(answer.Shift)
			a := complete(s, submit(t, s, r))
			if !slices.Equal(stage.acts, []chain.Act{c.act}) || stage.why == nil || !strings.Contains(stage.why.Error(), "tokens at once") {
				t.Errorf("refused: %v, %v", stage.acts, stage.why)
			}
			if a.end.Reason != answer.ReasonLength || len(a.tokens) != 20 || slices.Equal(a.tokens[1:], long[:19]) {
				t.Errorf("%v (%v): %v", a.end.Reason, a.end.Err, a.tokens)
			}
		})
	}
}

// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// whole is a request whose answer is to be complete.
func whole(c sampling.Constraint, limit int) sampling.Params {
	p := sampling.Default()
	p.Constraint, p.Room, p.Complete = c, limit, true
	return p
}

// leastOf is the least limit that a request may have, as the refusal of a smaller one tells it.
func leastOf(t *testing.T, e *Engine, c sampling.Constraint) int {
	t.Helper()
	g, err := e.read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.release()
	least := must.Get(g.is.Rest(g.is.Start(), e.tokens()))(t)
	if least > 1 {
		_, err = e.NewChain(whole(c, least-1))
		var refused *sampling.Invalid
		if !errors.As(err, &refused) || refused.Field != "complete" || !strings.Contains(refused.Why, "up to") {
			t.Fatalf("%s: %d of %d tokens: %v", c.Field(), least-1, least, err)
		}
	}
	return least
}

// randomAnswer has a chain draw from random rows, at some places among candidates, until the
// answer ends. It takes back tokens now and then.
func randomAnswer(t *testing.T, e *Engine, r *rand.Rand, p sampling.Params) (text string, ended bool) {
	t.Helper()
	stages := must.Get(e.NewChain(p))(t)
	defer chain.Close(stages)
	s := stages[0]
	history := []scheduler.Token{1}
	must.Do(t, s.Reset(history, 1))
	for len(history)-1 < p.Room {
		if back := r.IntN(len(history)); r.IntN(12) == 0 {
			history = history[:len(history)-back]
			must.Do(t, s.Reset(history, 1))
		}
		row := make([]float32, e.info.Vocabulary)
		for i := range row {
			row[i] = float32(r.NormFloat64() * 4)
		}
		v := chain.View{Row: row, N: -1, Chosen: -1}
		if err := s.Apply(&v); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if e.model.EndOfGeneration(v.Chosen) {
			return e.textOf(history[1:]), true
		}
		history = append(history, v.Chosen)
		effect := must.Get(s.Accept(v.Chosen))(t)
		if effect.Stop {
			return e.textOf(history[1:]), true
		}
	}
	return e.textOf(history[1:]), false
}

func (e *Engine) textOf(tokens []scheduler.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(e.model.SpecialPiece(t))
	}
	return b.String()
}

// Whatever the model wants to write, JSON that is to be complete fits its schema within any number
// of tokens from the least on.
func TestStage_Complete_RandomSchemas(t *testing.T) {
	e := opened(t, Options{})
	r := steadytest.Rand(t)
	tried := 0
	for range 40 {
		schema := must.Get(json.Marshal(grammartest.RandomSchema(r, 2)))(t)
		c := sampling.Constraint{JSONSchema: schema}
		g, err := e.read(t.Context(), c)
		if err != nil {
			continue
		}
		g.release()
		least := leastOf(t, e, c)
		if least > 200 {
			continue
		}
		for more := range 5 {
			text, ended := randomAnswer(t, e, r, whole(c, least+more*(1+r.IntN(5))))
			if !ended {
				t.Fatalf("%s: %q has no end", schema, text)
			}
			if err := grammartest.Fits(schema, text); err != nil {
				t.Fatalf("%s: %q, in %d tokens, least %d: %v", schema, text, least+more, least, err)
			}
			tried++
		}
	}
	if tried < 50 {
		t.Errorf("only %d answers were written", tried)
	}
}

// So do the other constraints.
func TestStage_Complete_OtherConstraints(t *testing.T) {
	e := opened(t, Options{})
	r := steadytest.Rand(t)
	for name, c := range map[string]struct {
		of   sampling.Constraint
		want string
	}{
		"grammar": {sampling.Constraint{Grammar: `root ::= "<" ("b"{3,40} | [a-z ]+ | root)* ">"`}, `^<.*>$`},
		"regex":   {sampling.Constraint{Regex: `(?i)[a-f ]{2,}(, [0-9]+)*\.`}, `^[a-fA-F ]{2,}(, [0-9]+)*\.$`},
		"deep":    {sampling.Constraint{Grammar: `root ::= "(" root{2} ")" | "x"`}, `^[(x)]+$`},
	} {
		least := leastOf(t, e, c.of)
		for limit := least; limit < least+30; limit++ {
			text, ended := randomAnswer(t, e, r, whole(c.of, limit))
			g := must.Get(e.read(t.Context(), c.of))(t)
			if g.release(); !ended || !regexp.MustCompile(c.want).MatchString(text) {
				t.Errorf("%s, %d tokens: %q, ended %v", name, limit, text, ended)
			} else if s, ok, err := g.is.Advance(g.is.Start(), []byte(text)); !ok || err != nil || !g.is.Complete(s) {
				t.Errorf("%s, %d tokens: %q is not whole, %v", name, limit, text, err)
			}
		}
	}
}

// A lazy grammar begins only where what it begins can be completed.
func TestStage_Complete_Lazy(t *testing.T) {
	e := opened(t, Options{})
	r := steadytest.Rand(t)
	const call = "<|im_start|>"
	trigger := tokens(t, e, call)
	trigger = trigger[len(trigger)-1:]
	woken := 0
	for limit := 1; limit < 60; limit++ {
		p := whole(sampling.Constraint{Grammar: `root ::= "` + call + `" "[" [a-z]{9,} "]"`, GrammarLazy: true,
			GrammarTriggers: []sampling.Trigger{{Kind: sampling.TriggerToken, Token: trigger[0]}}}, limit)
		p.LogitBias = map[int32]float32{trigger[0]: 11}
		text, _ := randomAnswer(t, e, r, p)
		if _, called, begun := strings.Cut(text, call); begun {
			if woken++; !regexp.MustCompile(`^\[[a-z]{9,}\]$`).MatchString(called) {
				t.Errorf("%d tokens: %q", limit, text)
			}
		}
	}
	if woken < 10 {
		t.Errorf("the grammar woke in %d answers", woken)
	}
}

// Where what was injected cannot be completed any more, the grammar alone holds.
func TestStage_Complete_Lost(t *testing.T) {
	e := opened(t, Options{})
	stages := must.Get(e.NewChain(whole(sampling.Constraint{Grammar: `root ::= "<" "b"{0,200} "c"* ">" | "[" "b"{150} "]"`}, 12)))(t)
	defer chain.Close(stages)
	s := stages[0].(*Stage)
	open, b := tokens(t, e, "[")[0], tokens(t, e, "[b")
	if n, err := s.Fits([]scheduler.Token{open}); n != 0 || err != nil {
		t.Fatalf("it takes what cannot be completed: %d, %v", n, err)
	}
	must.Do(t, s.Reset([]scheduler.Token{1, open}, 1))
	if n, err := s.Fits(b[1:]); n != len(b)-1 || err != nil {
		t.Errorf("%d of %d tokens may come, %v", n, len(b)-1, err)
	}
}

// Without a limit of tokens, and without the request's wish, answers are as they were.
func TestStage_Complete_NotAsked(t *testing.T) {
	e := opened(t, Options{})
	c := sampling.Constraint{Grammar: `root ::= "abc" [a-z]{40}`}
	for name, p := range map[string]sampling.Params{"no limit": whole(c, 0), "not asked": {Room: 3}} {
		if name == "not asked" {
			p = whole(c, 3)
			p.Complete = false
		}
		stages, err := e.NewChain(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		chain.Close(stages)
	}
}

// With guesses that are checked in one pass, answers are complete too, and greedy ones are the
// same as without.
func TestScheduler_Speculate_Complete(t *testing.T) {
	e := opened(t, Options{Slots: 2, DraftRows: 16, ContextSize: 2 * 256})
	schema := `{"type":"array","minItems":2,"items":{"type":"object","additionalProperties":false,"required":["kind","text"],
		"properties":{"kind":{"enum":["a long kind","another kind"]},"text":{"type":"string"}}}}`
	c := sampling.Constraint{JSONSchema: json.RawMessage(schema)}
	prompts := [][]int32{tokens(t, e, "A list:"), tokens(t, e, "[{\"kind\": \"a long kind\"")}
	least := leastOf(t, e, c)
	for limit := least; limit < least+40; limit += 13 {
		p := whole(c, limit)
		p.Temperature = 0
		want, _, _ := answersOf(t, e, nil, 2, prompts, p, limit)
		got, drafted, _ := answersOf(t, e, confident{draft.NewLookup(1)}, 2, prompts, p, limit)
		if drafted == 0 {
			t.Errorf("%d tokens: nothing was guessed", limit)
		}
		for i := range prompts {
			if text := e.textOf(got[i]); text != e.textOf(want[i]) || grammartest.Fits([]byte(schema), text) != nil {
				t.Errorf("%d tokens: %q, without guesses %q", limit, text, e.textOf(want[i]))
			}
		}
	}
}

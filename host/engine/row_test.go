// SPDX-License-Identifier: MIT

package engine

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/tools/must"
)

// withRows puts rows of pieces between tokens.
func withRows(r *rand.Rand, tokens []scheduler.Token) (mixed []scheduler.Token) {
	for i, t := range append(tokens, 0) {
		if r.IntN(4) == 0 {
			for range 1 + r.IntN(40) {
				mixed = append(mixed, math.MinInt32+int32(r.IntN(1<<20)))
			}
		}
		if i < len(tokens) {
			mixed = append(mixed, t)
		}
	}
	return mixed
}

// Whatever looks back at tokens draws the same with pictures among them as without: samplers that
// count, grammars that rest or not, and the budget of a thinking.
func TestStage_PassesOverRows(t *testing.T) {
	e := opened(t, Options{})
	b := e.Backend()
	prompt := tokens(t, e, "Once upon a time there was a frog. There was a frog, and once upon a time")
	for name, c := range map[string]struct {
		change func(p *sampling.Params)
		answer string
	}{
		"penalties": {func(p *sampling.Params) { p.RepeatPenalty, p.FrequencyPenalty, p.RepeatLastN = 1.5, 0.5, 7 }, " there"},
		"dry":       {func(p *sampling.Params) { p.DryMultiplier, p.DryAllowedLength, p.DryPenaltyLastN = 2, 1, 16 }, " there was"},
		"grammar":   {func(p *sampling.Params) { p.Grammar = `root ::= "the " [a-z ]+` }, "the fro"},
		"complete": {func(p *sampling.Params) {
			p.Grammar, p.Complete, p.Room = `root ::= "the " [a-z ]+ "."`, true, 12
		}, "the fro"},
		"asleep": {func(p *sampling.Params) {
			p.Grammar, p.GrammarLazy = `root ::= "was a frog" [a-z ]+`, true
			p.GrammarTriggers = []sampling.Trigger{{Kind: sampling.TriggerWord, Value: "was a frog"}}
		}, " there was a"},
		"awake": {func(p *sampling.Params) {
			p.Grammar, p.GrammarLazy = `root ::= "was a frog" [a-z ]+`, true
			p.GrammarTriggers = []sampling.Trigger{{Kind: sampling.TriggerWord, Value: "was a frog"}}
		}, " there was a frog"},
		"thinking": {func(p *sampling.Params) {
			p.Thinking = sampling.Thinking{StartTag: "<", EndTags: []string{">"}, Budget: 5}
		}, "<I see"},
	} {
		t.Run(name, func(t *testing.T) {
			seed := testSeed(t)
			r := rand.New(rand.NewPCG(seed, 1))
			p := sampling.Default()
			p.Temperature = 0
			c.change(&p)
			answer := must.Get(e.Tokenize(t.Context(), c.answer, false, true))(t)
			want := drawnAfter(t, e, b, p, slices.Concat(prompt, answer), len(prompt), nil)
			mixed := withRows(r, prompt)
			if got := drawnAfter(t, e, b, p, append(mixed, withRows(r, answer)...), len(mixed), nil); !slices.Equal(got, want) {
				t.Errorf("%v instead of %v", got, want)
			}
			if got := drawnAfter(t, e, b, p, slices.Concat(prompt, answer), len(prompt), []scheduler.Token{-1, math.MinInt32}); !slices.Equal(got, want) {
				t.Errorf("told of rows, %v instead of %v", got, want)
			}
		})
	}
}

// drawnAfter is what a chain draws after a history and some more tokens that it is told of.
func drawnAfter(t *testing.T, e *Engine, b scheduler.Backend, p sampling.Params, history []scheduler.Token, prompt int, told []scheduler.Token) (drawn []scheduler.Token) {
	t.Helper()
	stages := must.Get(e.NewChain(p))(t)
	stage := stages[0]
	defer func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	}()
	must.Do(t, stage.Reset(history, prompt))
	for _, token := range told {
		must.Get(stage.Accept(token))(t)
	}
	text, _ := spoken(history, prompt)
	b.Truncate(0, 0)
	feed(t, b, 0, 0, text...)
	for position := len(text); len(drawn) < 5; position++ {
		token := draw(t, b, stage)
		drawn = append(drawn, token)
		feed(t, b, 0, position, token)
	}
	return drawn
}

// A picture fits no grammar, and what comes before it may.
func TestStage_Fits_UpToARow(t *testing.T) {
	e := opened(t, Options{})
	p := sampling.Default()
	p.Grammar = `root ::= [a-z ]+`
	stages := must.Get(e.NewChain(p))(t)
	defer func() {
		if err := stages[0].Close(); err != nil {
			t.Error(err)
		}
	}()
	words := must.Get(e.Tokenize(t.Context(), "a frog", false, false))(t)
	if n, err := stages[0].(chain.Guard).Fits(slices.Concat(words, []scheduler.Token{-5}, words)); n != len(words) || err != nil {
		t.Errorf("%d of %d fit: %v", n, len(words), err)
	}
}

func TestEngine_Texts_PassOverRows(t *testing.T) {
	e := opened(t, Options{})
	const text = "Once upon a time there was a frog."
	mixed := withRows(rand.New(rand.NewPCG(testSeed(t), 2)), tokens(t, e, text))
	if got, err := e.Detokenize(mixed); err != nil || got != text {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := e.Detokenize([]scheduler.Token{-1}); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	for _, row := range []scheduler.Token{-1, math.MinInt32} {
		if e.Piece(row) != "" || e.Shown(row) != "" || e.backend.Piece(row) != "" || e.backend.ControlText(row) != "" || e.backend.EndOfGeneration(row) {
			t.Errorf("row %d has a text, or ends the answer", row)
		}
	}
}

// A draft model drafts from the text around pictures, beside others whose drafts go on.
func TestDraftModel_Draft_PassesOverRows(t *testing.T) {
	target := openedFile(t, Options{Path: builtIn, Slots: 1, ContextSize: 256})
	d := drafting(t, target, builtIn, 2)
	text := tokens(t, target, strings.Repeat("Once upon a time there was a frog. ", 3))
	want := &draft.Ask{Context: text, Most: 4, Within: time.Hour}
	for len(want.Draft) == 0 {
		d.Draft([]*draft.Ask{want})
	}
	seen := &draft.Ask{Slot: 1, Context: withRows(rand.New(rand.NewPCG(testSeed(t), 3)), text), Most: 4, Within: time.Hour}
	only := &draft.Ask{Slot: 1, Context: []int32{-2, -1}, Most: 4, Within: time.Hour}
	drafted := slices.Clone(want.Draft)
	for range 100 {
		if d.Draft([]*draft.Ask{want, seen}); len(seen.Draft) > 0 {
			break
		}
	}
	if !slices.Equal(want.Draft, drafted) || !slices.Equal(seen.Draft, drafted) {
		t.Errorf("%v and %v instead of %v", want.Draft, seen.Draft, drafted)
	}
	if d.Draft([]*draft.Ask{only}); len(only.Draft) != 0 {
		t.Errorf("%v was drafted from pictures alone", only.Draft)
	}
}

// testSeed is the seed of a test's random numbers: a new one each time, or PENSTOCK_TEST_SEED.
func testSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("PENSTOCK_TEST_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("PENSTOCK_TEST_SEED=%d", seed)
	return seed
}

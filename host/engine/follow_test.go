// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// lazyAndThinking is an answer with a lazy grammar that two words wake, and with thinking of at
// most five tokens.
func lazyAndThinking() sampling.Params {
	p := greedily()
	p.Constraint = sampling.Constraint{Grammar: `root ::= "<call>" [a-z ]{0,20} "</call>" | "frog" [a-z ]{0,9} "."`, GrammarLazy: true,
		GrammarTriggers: []sampling.Trigger{{Kind: sampling.TriggerWord, Value: "<call>"}, {Kind: sampling.TriggerWord, Value: "frog"}}}
	p.PreservedTokens = []string{"frog"}
	p.Thinking = sampling.Thinking{Budget: 5, StartTag: "<think>", EndTags: []string{"</think>", "</t>"}, Message: " enough"}
	return p
}

// babble is a text of words that matter to lazyAndThinking.
func babble(r *rand.Rand, words int) string {
	all := []string{"<think>", "</think>", "</t>", " a", "<call>", "</call>", "fr", "frog", " pond", ".", " und so", "🐸"}
	var b strings.Builder
	for range words {
		b.WriteString(all[r.IntN(len(all))])
	}
	return b.String()
}

// follower is what a stage does at each token of an answer.
type follower struct {
	asleep, resting bool
	force           []scheduler.Token
	fits            []int // of single tokens
}

func (s *Stage) state(t *testing.T, probes []scheduler.Token) follower {
	t.Helper()
	f := follower{asleep: s.lazy.asleep, resting: s.rests(), force: slices.Clone(s.thinking.force())}
	for i, probe := range probes {
		n := must.Get(s.Fits([]scheduler.Token{probe}))(t)
		if n == 1 {
			f.fits = append(f.fits, i)
		}
	}
	return f
}

// A stage that is told an answer token by token, one that is told it at once, and one that was
// taken back to it, are in the same state.
func TestStage_Reset_EqualsAccepting(t *testing.T) {
	e := opened(t, Options{})
	probes := tokens(t, e, "<call>frog</think>. und")
	woken, thought := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		answer := must.Get(e.Tokenize(t.Context(), babble(r, 12), false, true))(t)
		told, other := wholeChain(t, e, lazyAndThinking()), wholeChain(t, e, lazyAndThinking())
		history := []scheduler.Token{1, 2, 3}
		prompt := len(history)
		for _, s := range []*Stage{told, other} {
			must.Do(t, s.Reset(history, prompt))
		}
		for _, token := range answer {
			if n, err := told.Fits([]scheduler.Token{token}); n == 0 || err != nil {
				break // the grammar does not want the rest
			}
			if _, err := told.Accept(token); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			history = append(history, token)
			if err := other.Reset(history, prompt); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			want, got := told.state(t, probes), other.state(t, probes)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(follower{})); diff != "" {
				t.Fatalf("seed %d, %q: told one by one (-) and at once (+):\n%s", seed, history[prompt:], diff)
			}
			if !want.asleep {
				woken++
			}
			if len(want.force) > 0 {
				thought++
			}
		}
		back := history[:prompt+r.IntN(len(history)-prompt+1)]
		must.Do(t, errors.Join(told.Reset(back, prompt), other.Reset(back, prompt)))
		if diff := cmp.Diff(other.state(t, probes), told.state(t, probes), cmp.AllowUnexported(follower{})); diff != "" {
			t.Errorf("seed %d: taken back:\n%s", seed, diff)
		}
	}
	if woken < 30 || thought < 30 {
		t.Errorf("awake at %d tokens only, the end of thinking forced at %d", woken, thought)
	}
}

// Fits tells what Accept will take, and changes nothing.
func TestStage_Fits_IsWhatAcceptTakes(t *testing.T) {
	e := opened(t, Options{})
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := wholeChain(t, e, lazyAndThinking())
		said := must.Get(e.Tokenize(t.Context(), babble(r, 14), false, true))(t)
		must.Do(t, s.Reset([]scheduler.Token{1}, 1))
		from := r.IntN(len(said))
		for _, token := range said[:from] {
			if n, _ := s.Fits([]scheduler.Token{token}); n == 0 {
				break
			}
			must.Get(s.Accept(token))(t)
		}
		rest := said[from:]
		want, err := s.Fits(rest)
		again, _ := s.Fits(rest)
		if err != nil || again != want {
			t.Fatalf("seed %d: %d fit, then %d, %v", seed, want, again, err)
		}
		took := 0
		for _, token := range rest {
			if _, err := s.Accept(token); err != nil {
				if !errors.Is(err, chain.ErrNotAllowed) {
					t.Fatal(err)
				}
				break
			}
			took++
		}
		if took != want {
			t.Errorf("seed %d: %d of %d fit, %d were taken", seed, want, len(rest), took)
		}
	}
}

// The end of thinking is forced after so many tokens, in the middle of a prompt's thinking, too,
// and never within a character.
func TestStage_Thinking_BudgetOfTokens(t *testing.T) {
	e := opened(t, Options{})
	for name, c := range map[string]struct {
		budget       int
		prompt, says string
		want         string
	}{
		"in the answer": {3, "", "<think>a b c d e f", "<think>a b c enough</think>"},
		"ends itself":   {30, "", "<think>a b</think>c", "<think>a b</think>c"},
		"other end":     {30, "", "<think>a b</t>c", "<think>a b</t>c"},
		"in the prompt": {3, "<think>", "a b c d e f", "a b c enough</think>"},
		"none":          {0, "<think>", "a b c d e f", " enough</think>"},
		"twice":         {12, "", "<think>a</think><think>b c d e f g h i j k l m n o", "<think>a</think><think>b c d e f g h i j k l m enough</think>"},
	} {
		p := greedily()
		p.Thinking = sampling.Thinking{Budget: c.budget, StartTag: "<think>", EndTags: []string{"</think>", "</t>"}, Message: " enough"}
		p.GenerationPrompt = c.prompt
		s := wholeChain(t, e, p)
		must.Do(t, s.Reset([]scheduler.Token{1}, 1))
		if got := speak(t, e, s, c.says, 100); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A budget that a client makes smaller than what was thought ends the thinking at once.
func TestStage_Reset_SmallerBudget(t *testing.T) {
	e := opened(t, Options{})
	history := must.Get(e.Tokenize(t.Context(), "<think>a b c d e f", false, true))(t)
	p := lazyAndThinking()
	p.Thinking.Budget = 2
	s := wholeChain(t, e, p)
	must.Do(t, s.Reset(history, 0))
	if got, want := s.thinking.force(), s.thinking.forced; !slices.Equal(got, want) {
		t.Errorf("%v are forced, want %v", got, want)
	}
}

// The first words that wake a grammar begin it, as a search of the whole text would have it.
func FuzzLazy_Accept(f *testing.F) {
	f.Add("a frog", "fro", "(f)(r)", uint8(3))
	f.Add("xxüy", "üy", "^x*(ü)$", uint8(1))
	f.Add("", "a", "(", uint8(0))
	f.Fuzz(func(t *testing.T, text, word, pattern string, size uint8) {
		if word == "" {
			return
		}
		l := &lazy{asleep: true, triggers: &triggers{texts: []textTrigger{{word: word}}}}
		matches := func(string) bool { return false }
		if trigger, err := newPattern(sampling.Trigger{Kind: sampling.TriggerPattern, Value: pattern}, newPatternBudget()); err == nil {
			l.texts = append(l.texts, trigger)
			matches = trigger.search.MatchString
		}
		var pieces []string
		for chunk := range slices.Chunk([]byte(text), int(size%5)+1) {
			pieces = append(pieces, string(chunk))
		}
		l.piece = func(t scheduler.Token) string { return pieces[t] }
		for i := range pieces {
			begin, skip := l.accept(scheduler.Token(i))
			so := strings.Join(pieces[:i+1], "")
			found := strings.Contains(so, word) || matches(so)
			if found == l.asleep {
				t.Fatalf("%q: asleep %v, a trigger is there: %v", so, l.asleep, found)
			}
			if !found {
				continue
			}
			rest := ""
			for _, token := range begin {
				rest += pieces[token]
			}
			if skip > len(rest) || !strings.HasSuffix(so, rest) {
				t.Fatalf("%q: begins with %q without %d bytes", so, rest, skip)
			}
			if at := strings.Index(so, word); at >= 0 && rest[skip:] != so[at:] {
				t.Fatalf("%q: begins with %q, want %q", so, rest[skip:], so[at:])
			}
			return
		}
	})
}

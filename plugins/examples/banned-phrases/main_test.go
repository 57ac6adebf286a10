// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// pieces has the phrases of the tests in several cuts, an é in two tokens, and an end.
var pieces = []string{"", "a", "b", "c", "ab", "abc", " a", "B", "bc", "\xc3", "\x89", "\xa9", "é", " ", "x", "\u212a", "ſ", "!", "", " Game-", "changer"}

func request(config string) plugintest.Request {
	return plugintest.Request{
		Config: config, Pieces: pieces, Prompt: []penstock.Token{1, 2},
		Special: map[penstock.Special]penstock.Token{penstock.EOS: 0, penstock.EOT: 18},
	}
}

func text(s *plugintest.Session) string {
	var b strings.Builder
	for _, t := range s.History[len(s.Prompt):] {
		b.WriteString(pieces[t])
	}
	return b.String()
}

// generate lets a model that picks at random, but never what is banned, go on for n tokens. It
// returns how often tokens were taken back.
func generate(t *testing.T, s *plugintest.Session, r *rand.Rand, n int) (splices int) {
	t.Helper()
	for len(s.History) < n {
		bias := s.Prepare().Bias
		token := penstock.Token(1 + r.IntN(14))
		if _, banned := bias[token]; banned {
			continue
		}
		length := len(s.History)
		switch a := s.Accept(token); {
		case a.Splice:
			if back := length + 1 - len(s.History); back > hold {
				t.Fatalf("%d tokens were taken back, only %d are held", back, hold)
			}
			splices++
		case a.Stop:
			t.Fatal("gave up")
		}
	}
	return splices
}

func TestBanned_Accept_PhrasesNeverAppear(t *testing.T) {
	for seed := range uint64(20) {
		s := plugintest.Open[banned](t, request(`{"phrases":["abc","b é","xxx"]}`))
		splices := generate(t, s, rand.New(rand.NewPCG(seed, 1)), 500)
		for _, phrase := range []string{"abc", "b é", "xxx"} {
			if strings.Contains(strings.ToLower(text(s)), phrase) {
				t.Fatalf("seed %d: %q has %q", seed, text(s), phrase)
			}
		}
		if splices == 0 {
			t.Errorf("seed %d: nothing was taken back, so nothing was tested", seed)
		}
	}
}

func TestBanned_Accept_Splices(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		tokens []penstock.Token
		want   string
		banned penstock.Token // after the last token; 0 none
	}{
		"across tokens":      {`{"phrases":["abc"]}`, []penstock.Token{14, 1, 2, 3}, "x", 1},
		"inside a token":     {`{"phrases":["b"]}`, []penstock.Token{14, 5}, "x", 5},
		"begins in a token":  {`{"phrases":["bx"]}`, []penstock.Token{14, 4, 14}, "x", 4},
		"ignore case":        {`{"phrases":["AB"]}`, []penstock.Token{1, 7}, "", 1},
		"mind case":          {`{"phrases":["ab"],"ignore_case":false}`, []penstock.Token{1, 7}, "aB", 0},
		"in two bytes":       {`{"phrases":["é"]}`, []penstock.Token{14, 9, 10}, "x", 9},
		"prompt counts not":  {`{"phrases":["abx"]}`, []penstock.Token{14}, "x", 0},
		"first of two":       {`{"phrases":["c","abc"]}`, []penstock.Token{4, 3}, "", 4},
		"nothing to be seen": {`{"phrases":["cab"]}`, []penstock.Token{3, 1, 14, 4}, "caxab", 0},
		"pattern":            {`{"patterns":["a[bx]c"]}`, []penstock.Token{14, 1, 14, 3}, "x", 1},
		"earliest pattern":   {`{"patterns":["bc","(?i)ABC"]}`, []penstock.Token{14, 4, 3}, "x", 4},
		"pattern's case":     {`{"patterns":["AB"]}`, []penstock.Token{4}, "ab", 0},
		"capitals fold":      {`{"phrases":["É"]}`, []penstock.Token{14, 12}, "x", 12},
		"sign folds":         {`{"phrases":["ks"]}`, []penstock.Token{14, 15, 16}, "x", 15},
		"part of a word":     {`{"phrases":["ab"],"whole_words":true}`, []penstock.Token{4, 3, 13, 14, 4, 13}, "abc xab ", 0},
		"whole word":         {`{"phrases":["ab"],"whole_words":true}`, []penstock.Token{14, 13, 4, 13}, "x ", 4},
		"ends in a mark":     {`{"phrases":["ab!"],"whole_words":true}`, []penstock.Token{4, 17}, "", 4},
		"word before mark":   {`{"phrases":["ab"],"whole_words":true}`, []penstock.Token{13, 4, 17}, " ", 4},
		"no end after word":  {`{"phrases":["ab"],"whole_words":true}`, []penstock.Token{13, 4}, " ab", 18},
		"list":               {`{"list":"# words\n\"abx\"\n/c{2}/\r\nxx\n"}`, []penstock.Token{14, 3, 3}, "x", 3},
		"quoted in a list":   {`{"list":"# words\n\"abx\"\n/c{2}/\r\nxx\n"}`, []penstock.Token{13, 4, 14}, " ", 4},
		"comment in a list":  {`{"list":"#ab\n"}`, []penstock.Token{4}, "ab", 0},
		"slop":               {`{"slop":true}`, []penstock.Token{13, 19, 20}, " ", 19},
	} {
		t.Run(name, func(t *testing.T) {
			s := plugintest.Open[banned](t, request(c.config))
			for _, token := range c.tokens {
				s.Accept(token)
			}
			bias := s.Prepare().Bias
			if _, ok := bias[c.banned]; text(s) != c.want || ok != (c.banned != 0) {
				t.Errorf("got %q with %v banned, want %q with %d", text(s), bias, c.want, c.banned)
			}
		})
	}
}

// Random texts never have what is banned as whole words, or matches a pattern.
func TestBanned_Accept_PatternsNeverMatch(t *testing.T) {
	for seed := range uint64(20) {
		s := plugintest.Open[banned](t, request(`{"phrases":["b a"],"whole_words":true,"patterns":["a[bc]+x","(?i)\\bxb\\b","é.?é"]}`))
		if splices := generate(t, s, rand.New(rand.NewPCG(seed, 2)), 400); splices == 0 {
			t.Errorf("seed %d: nothing was taken back, so nothing was tested", seed)
		}
		never := regexp.MustCompile(`a[bc]{1,20}x|é.?é|(?i)(^|[^a-zé])(xb|b a)[^a-zé]`)
		if found := never.FindString(text(s)); found != "" {
			t.Fatalf("seed %d: %q has %q", seed, text(s), found)
		}
	}
}

// What is banned is banned in the parts that are asked for.
func TestBanned_Accept_Parts(t *testing.T) {
	for _, c := range []struct {
		config string
		part   penstock.Part
		want   bool
	}{
		{`{"phrases":["ab"]}`, penstock.Content, true}, {`{"phrases":["ab"]}`, penstock.Reasoning, false}, {`{"phrases":["ab"]}`, penstock.ToolCall, false},
		{`{"phrases":["ab"],"parts":["reasoning","content"]}`, penstock.Reasoning, true}, {`{"phrases":["ab"],"parts":["tool_call"]}`, penstock.Content, false},
	} {
		s := plugintest.Open[banned](t, request(c.config))
		if s.Part = &c.part; s.Accept(4).Splice != c.want {
			t.Errorf("%s in part %d: taken back is not %v", c.config, c.part, c.want)
		}
	}
}

// Whatever comes next is banned: the answer ends before it, or it is let pass there and banned
// again later. So the answer comes to an end.
func TestBanned_Accept_GivesUp(t *testing.T) {
	s := plugintest.Open[banned](t, request(`{"patterns":["[a-c]"],"tries":3}`))
	s.Accept(14)
	for _, token := range []penstock.Token{1, 2, 3} {
		if !s.Accept(token).Splice {
			t.Fatalf("%d is not taken back", token)
		}
	}
	if a := s.Accept(4); !a.Splice || !slices.Equal(a.Tokens, []penstock.Token{0}) || text(s) != "x" {
		t.Errorf("after the last try: %+v and %q", a, text(s))
	}
	s = plugintest.Open[banned](t, request(`{"patterns":["[a-c]"],"tries":3,"give_up":"allow"}`))
	calls := 0
	for ; len(s.History) < 100; calls++ {
		s.Accept(penstock.Token(1 + calls%3))
	}
	if calls != 4*98 {
		t.Errorf("98 tokens took %d calls, want three tries and one that is allowed for each", calls)
	}
}

// Two places send the answer back to one another for ever, unless tries without progress are
// bounded.
func TestBanned_Accept_EndsBetweenPlaces(t *testing.T) {
	s := plugintest.Open[banned](t, request(`{"patterns":["[a-c].{3}[a-c]"],"tries":200,"give_up":"allow"}`))
	r, calls := rand.New(rand.NewPCG(5, 5)), 0
	for ; len(s.History) < 60; calls++ {
		s.Accept(penstock.Token(1 + r.IntN(3)))
	}
	if calls > 60*5*4*200 {
		t.Errorf("it took %d calls", calls)
	}
}

// The first token is a, b or c, and after an a a b may come. With "ab" banned, an answer begins as
// the README says, and not as one of the model's that happens to have no "ab".
func TestBanned_Accept_Distribution(t *testing.T) {
	first, afterA := []float64{0, 0.5, 0.3, 0.2}, 0.6 // of a, b, c; that b comes after a
	const runs = 3000
	r, counts := rand.New(rand.NewPCG(9, 9)), map[penstock.Token]float64{}
	for range runs {
		s := plugintest.Open[banned](t, request(`{"phrases":["ab"]}`))
		for {
			weights := slices.Clone(first)
			for token := range s.Prepare().Bias {
				weights[token] = 0
			}
			token, u := penstock.Token(0), r.Float64()*(weights[1]+weights[2]+weights[3])
			for token = 1; u >= weights[token]; token++ {
				u -= weights[token]
			}
			s.Accept(token)
			if token != 1 || r.Float64() >= afterA || !s.Accept(2).Splice {
				counts[token]++
				break
			}
		}
	}
	back := first[1] * afterA // how likely it is that an answer goes back
	for token, want := range map[penstock.Token]float64{1: first[1] - back, 2: 0.3 + back*0.3/0.5, 3: 0.2 + back*0.2/0.5} {
		if got := counts[token] / runs; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/runs) {
			t.Errorf("token %d comes first in %.3f of all answers, want %.3f", token, got, want)
		}
	}
	exact := (first[1] - back) / (1 - back)
	if got := counts[1] / runs; math.Abs(got-exact) < 4*math.Sqrt(exact*(1-exact)/runs) {
		t.Errorf("a comes first in %.3f of all answers, as in those of the model that have no phrase", got)
	}
}

func TestBanned_Plan_Refusals(t *testing.T) {
	for config, want := range map[string]string{`{"patterns":["a","("]}`: `config.patterns has "("`, `{"list":"x\n/a*/"}`: "empty"} {
		if _, err := plugintest.TryOpen[banned](t, request(config)); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a refusal with %q", config, err, want)
		}
	}
	if s := plugintest.Open[banned](t, request(`{}`)); !strings.Contains(s.Planned, `"hold":0`) {
		t.Errorf("with nothing banned the plan is %s", s.Planned)
	}
}

// TestBanned_Accept_LongPhrase bans a phrase of more tokens than can be taken back.
func TestBanned_Accept_LongPhrase(t *testing.T) {
	phrase := strings.Repeat("ab", 40)
	s := plugintest.Open[banned](t, request(fmt.Sprintf(`{"phrases":[%q]}`, phrase)))
	for i := range 200 {
		length := len(s.History)
		if s.Accept(penstock.Token(1+i%2)).Splice && length+1-len(s.History) > hold {
			t.Fatalf("%d tokens were taken back", length+1-len(s.History))
		}
	}
	if strings.Contains(text(s), phrase) {
		t.Errorf("%q has the phrase", text(s))
	}
}

// TestBanned_Rewind_GoesOn takes tokens back as a user would, in the middle of a phrase.
func TestBanned_Rewind_GoesOn(t *testing.T) {
	s := plugintest.Open[banned](t, request(`{"phrases":["abc"]}`))
	for _, token := range []penstock.Token{14, 1, 2} {
		s.Accept(token)
	}
	s.Rewind(len(s.Prompt) + 2)
	for _, token := range []penstock.Token{3, 1, 2, 3} {
		s.Accept(token)
	}
	if got := text(s); got != "xac" {
		t.Errorf("got %q, want %q", got, "xac")
	}
}

// Much is taken back at once, further than the plugin remembers: it reads again what is left.
func TestBanned_Rewind_Far(t *testing.T) {
	s := plugintest.Open[banned](t, request(`{"phrases":["abc"],"patterns":["xab"]}`))
	for range 300 {
		s.Accept(14)
	}
	s.Rewind(len(s.Prompt) + 40)
	if !s.Accept(4).Splice || s.Accept(14).Splice {
		t.Errorf("got %q", text(s))
	}
	s.Rewind(len(s.Prompt))
	if s.Accept(1).Splice || s.Accept(2).Splice || !s.Accept(3).Splice || text(s) != "" {
		t.Errorf("got %q", text(s))
	}
}

// The plugin's own list means what it is made for, and no word that only has it inside.
func TestBanned_Accept_SlopList(t *testing.T) {
	for text, want := range map[string]bool{
		" a rich tapestry": true, " It’s not just a tool, it’s a way of life": true, "it's worth noting that": true,
		" Elara ": true, "I’m just an AI ": true, " a mixture of awe ": true,
		" administrations": false, " revelara": false, "I'm just an aide": false, " a mix of flour and water": false, " unless it is not": false,
	} {
		s := plugintest.Open[banned](t, plugintest.Request{Config: `{"slop":true}`, Pieces: []string{text + ".", "x"}})
		if got := s.Accept(0).Splice; got != want {
			t.Errorf("%q: taken back: %v", text, got)
		}
	}
}

// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// pieces has the phrases of the tests in several cuts, an é in two tokens, and an end.
var pieces = []string{"", "a", "b", "c", "ab", "abc", " a", "B", "bc", "\xc3", "\x89", "\xa9", "é", " ", "x"}

func request(config string) plugintest.Request {
	return plugintest.Request{
		Config: config, Pieces: pieces, Prompt: []penstock.Token{1, 2},
		Special: map[penstock.Special]penstock.Token{penstock.EOS: 0},
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
		token := penstock.Token(1 + r.IntN(len(pieces)-1))
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

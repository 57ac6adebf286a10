// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func TestRepetition_Accept_EndsAtTheLastTime(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		answer []penstock.Token
		want   int // tokens until the answer ends; 0: it does not
	}{
		"loop":               {`{"tokens":2,"times":3}`, []penstock.Token{9, 1, 2, 1, 2, 1, 2, 1}, 7},
		"apart":              {`{"tokens":2,"times":2}`, []penstock.Token{1, 2, 7, 8, 1, 2}, 6},
		"overlaps":           {`{"tokens":2,"times":2}`, []penstock.Token{5, 5, 5, 6, 6}, 0},
		"one token":          {`{"tokens":1,"times":4}`, []penstock.Token{3, 3, 3, 3, 3}, 4},
		"prompt counts not":  {`{"tokens":2,"times":2}`, []penstock.Token{4, 4, 1}, 0},
		"shorter than a run": {`{"tokens":12}`, []penstock.Token{1, 1, 1, 1, 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := plugintest.Open[repetition](t, plugintest.Request{Config: c.config, Prompt: []penstock.Token{4, 4, 4, 4}})
			got := 0
			for i, token := range c.answer {
				if s.Accept(token).Stop {
					got = i + 1
					break
				}
			}
			if got != c.want {
				t.Errorf("ended after %d tokens, want %d", got, c.want)
			}
		})
	}
}

// TestRepetition_Accept_TakenBack tells that tokens which were taken back do not count.
func TestRepetition_Accept_TakenBack(t *testing.T) {
	s := plugintest.Open[repetition](t, plugintest.Request{Config: `{"tokens":2,"times":2}`})
	for _, token := range []penstock.Token{1, 2, 1} {
		s.Accept(token)
	}
	s.Rewind(1)
	if s.Accept(2).Stop {
		t.Error("it ends the answer though only one run is left")
	}
}

// A loop is taken back to the beginning of its last run, whose first token is banned there, as
// long as the tries last.
func TestRepetition_Accept_GoesBack(t *testing.T) {
	s := plugintest.Open[repetition](t, plugintest.Request{Config: `{"tokens":2,"times":2,"then":"go_back","tries":2}`, Pieces: make([]string, 10), Prompt: []penstock.Token{7}})
	banned := func(want ...penstock.Token) {
		t.Helper()
		bias := s.Prepare().Bias
		for _, token := range want {
			if _, ok := bias[token]; !ok {
				t.Errorf("of %v, token %d is not banned", s.History, token)
			}
		}
		if len(bias) != len(want) {
			t.Errorf("of %v, %v are banned", s.History, bias)
		}
	}
	for _, token := range []penstock.Token{1, 2, 1} {
		if a := s.Accept(token); a.Splice || a.Stop {
			t.Fatalf("%d: %+v", token, a)
		}
	}
	if a := s.Accept(2); !a.Splice || a.Backtrack != 2 || len(s.History) != 3 {
		t.Fatalf("%+v, %v", a, s.History)
	}
	banned(1)
	s.Accept(3)
	banned()
	s.Accept(2)
	if a := s.Accept(3); !a.Splice || len(s.History) != 4 {
		t.Fatalf("%+v, %v", a, s.History)
	}
	banned(2)
	s.Rewind(3)
	banned(1)
	for _, token := range []penstock.Token{5, 1, 5} {
		s.Accept(token)
	}
	if a := s.Accept(1); !a.Stop {
		t.Errorf("after the last try: %+v", a)
	}
}

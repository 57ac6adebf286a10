// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"slices"
	"strings"
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

// Any run of few tokens counts that comes several times one right after the other, as vLLM's
// repetition_detection says.
func TestRepetition_Accept_Patterns(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		answer []penstock.Token
		want   int // tokens until the answer ends; 0: it does not
	}{
		"two tokens":      {`{"max_pattern_size":4,"min_count":3}`, []penstock.Token{9, 1, 2, 1, 2, 1, 2, 1}, 7},
		"one token":       {`{"max_pattern_size":4,"min_count":3}`, []penstock.Token{9, 1, 1, 1, 1}, 4},
		"not the whole":   {`{"max_pattern_size":2,"min_count":2}`, []penstock.Token{1, 2, 3, 1, 2, 3}, 0},
		"apart":           {`{"max_pattern_size":2,"min_count":2}`, []penstock.Token{1, 2, 7, 1, 2}, 0},
		"too short a run": {`{"max_pattern_size":4,"min_pattern_size":3,"min_count":2}`, []penstock.Token{5, 5, 5, 5, 5, 5, 5}, 6},
	} {
		s := plugintest.Open[repetition](t, plugintest.Request{Config: c.config, Prompt: []penstock.Token{4, 4, 4, 4}})
		got := 0
		for i, token := range c.answer {
			if s.Accept(token).Stop {
				got = i + 1
				break
			}
		}
		if got != c.want {
			t.Errorf("%s: ended after %d tokens, want %d", name, got, c.want)
		}
	}
	_, err := plugintest.TryOpen[repetition](t, plugintest.Request{Config: `{"max_pattern_size":500,"min_count":9}`})
	if !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "config.max_pattern_size 500") {
		t.Errorf("4,500 tokens to look at: %v", err)
	}
}

// A loop in the reasoning closes it, once, and the answer is watched like any other.
func TestRepetition_Prepare_ClosesReasoning(t *testing.T) {
	pieces := []string{"hm", "</think>", "\n\n", "Hi"}
	s := plugintest.Open[repetition](t, plugintest.Request{Config: `{"tokens":1,"times":3}`, Pieces: pieces})
	part := penstock.Reasoning
	s.Part = &part
	for range 3 {
		if got := s.Prepare().Forced; got != nil {
			t.Fatalf("%v is forced after %v", got, s.History)
		}
		if s.Accept(0).Stop {
			t.Fatal("the answer ends")
		}
	}
	if got := s.Prepare().Forced; !slices.Equal(got, []penstock.Token{1, 2}) {
		t.Fatalf("%v is forced after the loop", got)
	}
	s.Accept(1)
	s.Accept(2)
	if got := s.Prepare().Forced; got != nil {
		t.Errorf("%v is forced again", got)
	}
	part = penstock.Content
	if s.Accept(3).Stop || s.Accept(3).Stop || !s.Accept(3).Stop {
		t.Error("the loop in the answer does not end it")
	}
}

// An answer may say once more what the reasoning has said, and reasoning that goes on in spite of
// its end is ended like any other text.
func TestRepetition_Accept_ReasoningCountsByItself(t *testing.T) {
	s := plugintest.Open[repetition](t, plugintest.Request{Config: `{"tokens":2,"times":3}`, Pieces: []string{"a", "b", "</think>", "\n\n"}})
	part := penstock.Reasoning
	s.Part = &part
	say := func(tokens ...penstock.Token) (stopped bool) {
		for _, token := range tokens {
			stopped = s.Accept(token).Stop || stopped
		}
		return stopped
	}
	say(0, 1, 2, 0, 1, 2)
	part = penstock.Content
	if say(0, 1, 3, 0, 1) {
		t.Error("a draft in the reasoning counts as a part of the answer")
	}
	if !say(0, 1) {
		t.Error("the loop in the answer does not end it")
	}
	part = penstock.Reasoning
	s.Rewind(0)
	if say(0, 1, 0, 1, 0, 1) || s.Prepare().Forced == nil {
		t.Fatal("the loop in the reasoning does not end the reasoning")
	}
	if say(2, 3); !say(0, 1) {
		t.Error("the end of the reasoning is forced again and again")
	}
}

// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func TestRepetition_Stop_EndsAtTheLastTime(t *testing.T) {
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
				s.Accept(token)
				if answer := s.Stop(token, "x"); answer == penstock.End {
					got = i + 1
					break
				} else if answer != penstock.Show {
					t.Fatalf("answered %d", answer)
				}
			}
			if got != c.want {
				t.Errorf("ended after %d tokens, want %d", got, c.want)
			}
		})
	}
}

// TestRepetition_Stop_TakenBack tells that tokens which were taken back do not count.
func TestRepetition_Stop_TakenBack(t *testing.T) {
	s := plugintest.Open[repetition](t, plugintest.Request{Config: `{"tokens":2,"times":2}`})
	for _, token := range []penstock.Token{1, 2, 1} {
		s.Accept(token)
		s.Stop(token, "x")
	}
	s.Rewind(1)
	s.Accept(2)
	if answer := s.Stop(2, "x"); answer != penstock.Show {
		t.Errorf("answered %d though only one run is left", answer)
	}
}

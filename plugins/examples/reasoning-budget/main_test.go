// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func TestBudget_Prepare_EndsReasoning(t *testing.T) {
	s := plugintest.Open[budget](t, plugintest.Request{Config: `{"tokens":2,"end":"</think>"}`, Pieces: []string{"hm", "</", "think>", "Hi"}})
	part := func(p penstock.Part) { s.Part = &p }
	part(penstock.Reasoning)
	for n, want := range [][]penstock.Token{nil, nil, {1, 2}} {
		if got := s.Prepare().Forced; !slices.Equal(got, want) {
			t.Errorf("after %d tokens %v is forced, want %v", n, got, want)
		}
		s.Accept(0)
	}
	if got := s.Prepare().Forced; got != nil {
		t.Errorf("%v is forced again", got)
	}
	part(penstock.Content)
	s.Accept(3)
	part(penstock.Reasoning)
	if got := s.Prepare().Forced; !slices.Equal(got, []penstock.Token{1, 2}) {
		t.Errorf("%v is forced where it reasons again, beyond its budget", got)
	}
}

func TestBudget_Prepare_LeavesContentAlone(t *testing.T) {
	s := plugintest.Open[budget](t, plugintest.Request{Config: `{"tokens":1}`, Pieces: []string{"hm", "</think>\n\n"}})
	content := penstock.Content
	s.Part = &content
	for range 3 {
		s.Accept(0)
		if got := s.Prepare().Forced; got != nil {
			t.Errorf("%v is forced in the answer itself", got)
		}
	}
}

// From the budget on the first end of a sentence ends the reasoning, and at last it ends anyway.
func TestBudget_Prepare_WaitsForASentence(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   int // tokens until the end is forced
	}{
		"none comes":  {[]string{"a", "b", "c", "d", "e", "f"}, 5},
		"one comes":   {[]string{"a.", "b", "c", "d.", "e", "f"}, 4},
		"it has come": {[]string{"a", "b!", "c", "d", "e", "f"}, 2},
		"with quotes": {[]string{"a", "b", "c", "“d?”", "e", "f"}, 4},
		"with a line": {[]string{"a", "b", "c\n", "d", "e", "f"}, 3},
	} {
		pieces := append(c.pieces, "Enough.", "</think>")
		s := plugintest.Open[budget](t, plugintest.Request{Config: `{"tokens":2,"grace":3,"message":"Enough.","end":"</think>"}`, Pieces: pieces})
		part, got := penstock.Reasoning, 0
		for s.Part = &part; got < len(c.pieces); got++ {
			if forced := s.Prepare().Forced; forced != nil {
				if !slices.Equal(forced, []penstock.Token{6, 7}) {
					t.Errorf("%s: %v is forced", name, forced)
				}
				break
			}
			s.Accept(penstock.Token(got))
		}
		if got != c.want {
			t.Errorf("%s: it ended after %d tokens, want %d", name, got, c.want)
		}
	}
}

// An end that comes too early is replaced, in whatever tokens it comes, and the answer cannot end
// there.
func TestBudget_Accept_ReplacesAnEarlyEnd(t *testing.T) {
	pieces := []string{"hm", "</", "think>", "</think>", "Wait", ".</", ""}
	for name, c := range map[string]struct {
		end  []penstock.Token
		want []penstock.Token // what is left of the reasoning
	}{
		"one token":        {[]penstock.Token{3}, []penstock.Token{0, 4}},
		"two":              {[]penstock.Token{1, 2}, []penstock.Token{0, 4}},
		"begins in one":    {[]penstock.Token{5, 2}, []penstock.Token{0, 4}},
		"something else":   {[]penstock.Token{1, 3}, []penstock.Token{0, 1, 4}},
		"not all of it":    {[]penstock.Token{1}, []penstock.Token{0, 1}},
		"nothing is early": {[]penstock.Token{0, 0, 0, 0, 3}, []penstock.Token{0, 0, 0, 0, 0, 3}},
	} {
		s := plugintest.Open[budget](t, plugintest.Request{Config: `{"minimum":4}`, Pieces: pieces, Special: map[penstock.Special]penstock.Token{penstock.EOS: 6}})
		part := penstock.Reasoning
		s.Part = &part
		if bias := s.Prepare().Bias; bias[6] >= 0 {
			t.Errorf("%s: the answer may end at once: %v", name, bias)
		}
		for _, token := range append([]penstock.Token{0}, c.end...) {
			s.Accept(token)
		}
		if !slices.Equal(s.History, c.want) {
			t.Errorf("%s: left %v, want %v", name, s.History, c.want)
		}
	}
}

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

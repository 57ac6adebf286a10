// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func TestLookup_Draft_GoesOnAsThePromptDid(t *testing.T) {
	prompt := []penstock.Token{1, 2, 3, 4, 5, 6, penstock.MediaToken, 7}
	s := plugintest.Open[lookup](t, plugintest.Request{Config: `{"tokens":2}`, Prompt: prompt, Pieces: make([]string, 10)})
	for _, c := range []struct {
		accept penstock.Token
		want   []penstock.Token
	}{{2, nil}, {3, prompt[3:6]}, {4, prompt[4:6]}, {9, nil}, {5, nil}, {6, nil}} {
		s.Accept(c.accept)
		if got := s.Draft(); !slices.Equal(got, c.want) {
			t.Errorf("after %v: %v, want %v", s.History, got, c.want)
		}
	}
}

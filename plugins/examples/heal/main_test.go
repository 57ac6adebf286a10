// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

var pieces = []string{"", "the", " fr", " fro", "og", " frog", "s", "g", " jumps", "o", ".", " f", "r", " ", "", "f"}

// tale says "the frogs jumps." in these tokens, and nothing else: after what it would not have
// written it says ".".
func tale(tokens []penstock.Token) []float32 {
	story, row := []penstock.Token{1, 5, 6, 8, 10, 0}, make([]float32, len(pieces))
	next := penstock.Token(10)
	for n := range story {
		if slices.Equal(tokens, append([]penstock.Token{14}, story[:n]...)) {
			next = story[n]
		}
	}
	row[next] = 5
	return row
}

func run(t *testing.T, prompt ...penstock.Token) string {
	t.Helper()
	s := plugintest.Open[heal](t, plugintest.Request{Pieces: pieces, Prompt: append([]penstock.Token{14}, prompt...), MaxTokens: 8, ContextSize: 64,
		Attributes: map[penstock.Token]penstock.Attributes{0: penstock.AttrEnd}, Says: tale, Sampling: `{"temperature":0}`})
	shown, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, token := range shown {
		text.WriteString(pieces[token.Token])
	}
	return text.String()
}

// Wherever the story is cut, and whatever tokens the rest is read as, it goes on as if it had not
// been.
func TestHeal_Run_GoesOnAsIfItWasWhole(t *testing.T) {
	for name, c := range map[string]struct {
		prompt []penstock.Token
		want   string
	}{
		"between tokens":           {[]penstock.Token{1, 5}, "s jumps."},
		"inside a token":           {[]penstock.Token{1, 2}, "ogs jumps."},
		"inside one, as two":       {[]penstock.Token{1, 11, 12}, "ogs jumps."},
		"inside one, as three":     {[]penstock.Token{1, 11, 12, 9}, "gs jumps."},
		"after a space":            {[]penstock.Token{1, 13}, "frogs jumps."},
		"at the end of a word":     {[]penstock.Token{1, 3, 7}, "s jumps."},
		"at the end of the prompt": {[]penstock.Token{1, 5, 6}, " jumps."},
		"after a picture":          {[]penstock.Token{penstock.MediaToken, 9, 7}, "........"}, // of "og" the g is taken back, and no more
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(t, c.prompt...); got != c.want {
				t.Errorf("it writes %q, want %q", got, c.want)
			}
		})
	}
}

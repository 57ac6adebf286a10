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

var pieces = append(strings.Split(" abcdefghijklmnopqrstuvwxyzN:.,\n", ""), "", "go")

// echo is a model that repeats how many tokens it was told, and ends a field after two letters.
func echo(tokens []penstock.Token) []float32 {
	row := make([]float32, len(pieces))
	next := slices.Index(pieces, ".")
	if since := len(tokens) - 1 - slices.Index(tokens, token(":")); lastColon(tokens) == len(tokens)-1 || lastColon(tokens) == len(tokens)-2 {
		next = 1 + (len(tokens)+since)%26
	}
	row[next] = 9
	return row
}

func token(piece string) penstock.Token { return penstock.Token(slices.Index(pieces, piece)) }

func lastColon(tokens []penstock.Token) (at int) {
	for i, t := range tokens {
		if t == token(":") {
			at = i
		}
	}
	return at
}

func request(config string) plugintest.Request {
	return plugintest.Request{Config: config, Pieces: pieces, Prompt: []penstock.Token{token("go")}, MaxTokens: 100, ContextSize: 256, Says: echo,
		Sampling: `{"temperature":0}`}
}

func fill(t *testing.T, config string) (text string, computed int) {
	t.Helper()
	s := plugintest.Open[form](t, request(config))
	shown, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range shown {
		text += pieces[token.Token]
	}
	return text, s.Computed()
}

// What is filled at once is what is filled one by one. A field that depends on another reads it,
// and one that does not does not.
func TestForm_Run_AtOnceIsOneByOne(t *testing.T) {
	const fields = `"template":"a:{a}. bb:{b}. ccc:{c}.\n"`
	together, rows := fill(t, `{`+fields+`,"at_once":4}`)
	alone, others := fill(t, `{`+fields+`,"at_once":1}`)
	if together != alone || rows != others || len(together) != len("a:xx. bb:xx. ccc:xx.\n") {
		t.Errorf("at once it writes %q with %d rows, one by one %q with %d", together, rows, alone, others)
	}
	depending, _ := fill(t, `{`+fields+`,"after":{"c":["a"]}}`)
	if depending == together || depending[:14] != together[:14] {
		t.Errorf("with the third field after the first it writes %q, without %q", depending, together)
	}
	if short, _ := fill(t, `{`+fields+`,"max_tokens":1}`); len(short) != len("a:x. bb:x. ccc:x.\n") {
		t.Errorf("with a token for each field it writes %q", short)
	}
}

func TestForm_Run_GivesValues(t *testing.T) {
	s := plugintest.Open[form](t, request(`{"template":"a:{a}. b:{b}"}`))
	if _, err := s.Run(); err != nil || len(s.Outputs) != 1 || !strings.HasPrefix(s.Outputs[0], `{"a":"`) || strings.Contains(s.Outputs[0], ":.") {
		t.Errorf("it gives %v: %v", s.Outputs, err)
	}
}

func TestForm_Open_RefusesWhatItCannotFill(t *testing.T) {
	for config, says := range map[string]string{
		`{"template":"none"}`:                               "no field",
		`{"template":"a {b"}`:                               "end",
		`{"template":"{a} {a}"}`:                            "twice",
		`{"template":"{a} {b}","after":{"a":["b"]}}`:        "before it",
		`{"template":"{a} {b}","after":{"b":["somebody"]}}`: "somebody",
	} {
		if _, err := plugintest.TryOpen[form](t, request(config)); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// generate gives the plugin the pieces of an answer and returns what a client sees of it and
// whether the plugin ended it.
func generate(t *testing.T, s *plugintest.Session, pieces []string) (seen string, ended bool) {
	t.Helper()
	held := ""
	for _, piece := range pieces {
		held += piece
		switch answer := s.Stop(0, piece); {
		case answer == penstock.Show:
			seen, held = seen+held, ""
		case answer < 0 && int(-answer-1) <= len(held):
			return seen + held[:-answer-1], true
		case answer != penstock.Hold:
			t.Fatalf("answered %d with %d bytes held", answer, len(held))
		}
	}
	return seen + held, false
}

func TestRegexStop_Stop_Text(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		pieces string // separated by |
		want   string
		ended  bool
	}{
		"across pieces":        {`{"pattern":"STOP"}`, "one S|T|O|P two", "one ", true},
		"shown":                {`{"pattern":"STOP","show":true}`, "one S|T|O|P two", "one STOP", true},
		"none":                 {`{"pattern":"STOP"}`, "one S|T|O|two", "one STOtwo", false},
		"digits":               {`{"pattern":"\\d{3,}"}`, "a 12 b 1|23 c", "a 12 b ", true},
		"begin of a line":      {`{"pattern":"(?m)^User:"}`, "User is|\n|Us|er: hi", "User is\n", true},
		"end of a line":        {`{"pattern":"(?m)ab$"}`, "abc ab|\nx", "abc ", true},
		"word border":          {`{"pattern":"\\bend\\b"}`, "bend ends |en|d.", "bend ends ", true},
		"alternatives":         {`{"pattern":"cat|horse"}`, "a ho|g, a hor|se", "a hog, a ", true},
		"earliest beginning":   {`{"pattern":"a.*c|b"}`, "xa|1b", "xa1", true},
		"umlauts, ignore case": {`{"pattern":"(?i)übel"}`, "gut, Ü|BEL", "gut, ", true},
		"open end":             {`{"pattern":"<[^>]*>"}`, "x <" + strings.Repeat("long|", 1000), "x <" + strings.Repeat("long", 1000), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := plugintest.Open[regexStop](t, plugintest.Request{Config: c.config})
			if got, ended := generate(t, s, strings.Split(c.pieces, "|")); got != c.want || ended != c.ended {
				t.Errorf("got %q, ended %v; want %q, %v", got, ended, c.want, c.ended)
			}
		})
	}
}

func TestRegexStop_Open_Refusals(t *testing.T) {
	for pattern, want := range map[string]string{"(": "missing", "a*": "empty", "((a{100}){100}){100}": "", "a{900}b{900}c{900}": "large", "a{1,50}": "nested", "(((((((((((((((((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))))))))))))))))": "nested"} {
		_, err := plugintest.TryOpen[regexStop](t, plugintest.Request{Config: `{"pattern":"` + pattern + `"}`})
		if !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a refusal with %q", pattern, err, want)
		}
	}
}

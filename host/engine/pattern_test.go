// SPDX-License-Identifier: MIT

package engine

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/host/sampling"
)

// The patterns of llama.cpp's templates, and where they begin in a text.
func TestNewPattern_Lookahead(t *testing.T) {
	const message = `(?:^|<\|start\|>assistant)( to=(?!self<\|message\|>)(?!user<\|message\|>)[^<]*?<\|message\|>)`
	for _, c := range []struct {
		pattern, text string
		want          int // -1: no match
	}{
		{`>>>(?!all)`, ">>>get", 0},
		{`>>>(?!all)`, ">>>all\nHi", -1},
		{`>>>(?!all)`, ">>>all\nHi>>>get", 9},
		{`>>>(?!all)`, ">>>", 0},
		{`>>>(?!all)`, ">>>al", 0},
		{message, " to=self<|message|>", -1},
		{message, " to=user<|message|>x<|start|>assistant to=f<|message|>", strings.Index(" to=user<|message|>x<|start|>assistant to=f", " to=f")},
		{`(a)(?!b)`, "abac", 2},
		{`a(?!\.)`, "a.a,", 2},
	} {
		trigger, err := newPattern(sampling.Trigger{Kind: sampling.TriggerPattern, Value: c.pattern})
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		at, found := trigger.begin([]byte(c.text), 0)
		if !found {
			at = -1
		}
		if at != c.want {
			t.Errorf("%s in %q: at %d, want %d", c.pattern, c.text, at, c.want)
		}
	}
	for _, bad := range []string{`a(?!b*)`, `a(?!(?i)b)`, `a(?=b)`, `(?!`, `a{1000}{1000}(?!b)`, `(?:a{600}){2}(?!b)`, `a(?!b|c)`} {
		if _, err := newPattern(sampling.Trigger{Kind: sampling.TriggerPattern, Value: bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

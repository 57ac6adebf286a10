// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/tools/steadytest"
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
		trigger, err := newPattern(sampling.Trigger{Kind: sampling.TriggerPattern, Value: c.pattern}, newPatternBudget())
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
		if _, err := newPattern(sampling.Trigger{Kind: sampling.TriggerPattern, Value: bad}, newPatternBudget()); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// The patterns of a request are bounded together, and none takes long only to be refused.
func TestCompilePattern_Budget(t *testing.T) {
	left := newPatternBudget()
	taken := 0
	for i := range 1024 {
		if _, err := compilePattern(fmt.Sprintf("(?:[^a-z]?.?){100}%d", i), left); err == nil {
			taken++
		}
	}
	if taken < 20 || taken > maxPatternsCode/200 {
		t.Errorf("%d patterns of at least 200 instructions are taken", taken)
	}
	plain := steadytest.Cost(t, func() {
		left := newPatternBudget()
		for i := range 20 {
			_, _ = compilePattern(fmt.Sprintf("(?:[^a-z]?.?){160}%d", i), left)
		}
	})
	for _, pattern := range []string{"(?i)[" + strings.Repeat("A-\U0001E922", 600) + "]", "[" + strings.Repeat(`\pL`, 1300) + "]", "((a{1000}){1000}|(b{1000}){1000})"} {
		cost := steadytest.Cost(t, func() {
			left := newPatternBudget()
			for range 1024 {
				if _, err := compilePattern(pattern, left); err != nil {
					return // as the request does
				}
			}
			t.Errorf("%.20s is taken", pattern)
		})
		if cost > 20*plain {
			t.Errorf("%.20s 1,024 times takes %v; 20 patterns that are taken %v", pattern, cost, plain)
		}
	}
}

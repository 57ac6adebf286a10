// SPDX-License-Identifier: MIT

package completion

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler/answer"
)

// stopped feeds a text to a rule, some bytes each time, and returns what is shown and by which text
// it has ended.
func stopped(t *testing.T, s *contentStops, text string, step int) (shown, stop string) {
	t.Helper()
	for at := 0; at < len(text); at += step {
		end := min(len(text), at+step)
		v, err := s.Check(0, text[at:end])
		switch {
		case err != nil:
			t.Fatal(err)
		case v.End:
			return text[:s.shown+v.Show], v.Stop
		case !v.Hold && s.shown != end:
			t.Fatalf("%d bytes are shown of %d", s.shown, end)
		}
	}
	return text, ""
}

// A stop text ends an answer in its content only, wherever tokens begin and end.
func TestContentStops_Check(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ stops, text, shown, stop string }{
			{"lo", "hello", "hel", "lo"},
			{"lo", "(hello)lo and on", "(hello)", "lo"},
			{"12|lo", "F12lo", "F12", "lo"},
			{"lo|he", "(lo)hello", "(lo)", "he"},
			{"ab", "(a)b aab", "(a)b a", "ab"},
			{"F", "F1", "F1", ""},
			{"(", "(hm)x", "(hm)x", ""},
			{"lo", strings.Repeat("(lo)", 200) + "lo", strings.Repeat("(lo)", 200), "lo"},
		} {
			for step := 1; step < 5; step++ {
				rule := newContentStops(chat.Prompt{NewParser: func() (chat.Parser, error) { return &upper{}, nil }}, strings.Split(c.stops, "|"))
				if shown, stop := stopped(t, rule, c.text+strings.Repeat(".", 1000), step); shown != c.shown && stop != "" || stop != c.stop {
					t.Errorf("%.20q, %d bytes each: %.20q is shown, ended by %q; want %.20q, %q", c.text, step, shown, stop, c.shown, c.stop)
				}
			}
		}
	})
}

// What is taken back is searched again, and however often a text stands in reasoning, the parser is
// asked seldom.
func TestContentStops_Bounds(t *testing.T) {
	parsers := 0
	p := chat.Prompt{ThinkingEnds: []string{")"}, NewParser: func() (chat.Parser, error) { parsers++; return &quick{}, nil }}
	rule := newContentStops(p, []string{"lo"})
	stopped(t, rule, "("+strings.Repeat("lo", 10000), 2)
	if parsers > 10 {
		t.Errorf("%d parsers for reasoning whose end is known", parsers)
	}
	parsers, p.ThinkingEnds = 0, nil
	rule = newContentStops(p, []string{"lo"})
	stopped(t, rule, "("+strings.Repeat("lo", 10000), 2)
	if parsers > 500 {
		t.Errorf("%d parsers for reasoning of 10,000 stop texts", parsers)
	}
	var _ answer.RewindRule = rule
	rule = newContentStops(p, []string{"lo"})
	stopped(t, rule, "hel", 1)
	rule.Rewind(1, 1)
	if v, err := rule.Check(0, "lo"); err != nil || !v.End || rule.shown+v.Show != len("he") {
		t.Errorf("after what was taken back: %+v, %v", v, err)
	}
}

// quick is upper without its time.
type quick struct{ upper }

func (*quick) Add(text string, _ bool) ([]chat.Delta, error) {
	if i := strings.IndexByte(text, ')'); strings.HasPrefix(text, "(") && i < 0 {
		return []chat.Delta{{Reasoning: text[1:]}}, nil
	}
	return []chat.Delta{{Content: text}}, nil
}

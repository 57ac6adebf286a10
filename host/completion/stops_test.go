// SPDX-License-Identifier: MIT

package completion

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
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
		case !v.Hold && s.shown != end || s.shown > end:
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
				rule := newContentStops(chat.Prompt{HasParts: true, NewParser: func() (chat.Parser, error) { return &upper{}, nil }}, strings.Split(c.stops, "|"))
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

// An answer that breaks its format is content, whether the parser says so or tells nothing of it
// any more.
func TestContentStops_BrokenFormat(t *testing.T) {
	for name, p := range map[string]*fragile{
		"told":              {err: chat.ErrFormat},
		"silent":            {},
		"in the beginning":  {silent: true},
		"told in beginning": {silent: true, err: chat.ErrFormat},
	} {
		for step := 1; step < 5; step++ {
			rule := newContentStops(chat.Prompt{HasParts: true, NewParser: func() (chat.Parser, error) { return p, nil }}, []string{"lo"})
			text := "(lo)he<" + strings.Repeat(".", 20) + "lo and on"
			if p.silent {
				text = "<he" + strings.Repeat(".", 20) + "lo and on"
			}
			want, _, _ := strings.Cut(text[4:], "lo")
			if shown, stop := stopped(t, rule, text+strings.Repeat(".", 1000), step); shown != text[:4]+want || stop != "lo" {
				t.Errorf("%s, %d bytes each: %.60q is shown, ended by %q", name, step, shown, stop)
			}
		}
	}
}

// fragile is a parser that breaks at "<".
type fragile struct {
	quick
	silent bool
	err    error
}

func (f *fragile) Add(text string, _ bool) ([]chat.Delta, error) {
	if strings.Contains(text, "<") {
		return nil, f.err
	}
	thought, content, _ := strings.Cut(text, ")")
	return []chat.Delta{{Reasoning: thought}, {Content: content}}, nil
}

// Text that cannot become one of the texts any more is shown, also where each token ends with the
// beginning of one, or with one that is no content.
func TestContentStops_Check_ShowsWhatIsFree(t *testing.T) {
	p := chat.Prompt{HasParts: true, NewParser: func() (chat.Parser, error) { return &quick{}, nil }}
	for _, c := range []struct {
		stop, text string
		free       int
	}{{"ab", strings.Repeat("a", 100), 99}, {"abcd", "xyzabc", 3}, {"lo", "(hm, hm)x", 9}, {"ab", "(hm" + strings.Repeat("a", 100), 102}} {
		rule := newContentStops(p, []string{c.stop})
		for i := range len(c.text) {
			must.Get(rule.Check(0, c.text[i:i+1]))(t)
		}
		if rule.shown != c.free {
			t.Errorf("%.10q: %d bytes are shown; want %d", c.text, rule.shown, c.free)
		}
	}
}

// However often texts stand in what waits, the cost grows with the answer and not with its square.
func TestContentStops_Cost(t *testing.T) {
	all := []string{"lo"}
	for i := range 15 {
		all = append(all, fmt.Sprintf("\x00%d", i))
	}
	cost := func(n int) func() {
		return func() {
			rule := newContentStops(chat.Prompt{HasParts: true, NewParser: func() (chat.Parser, error) { return &quick{}, nil }}, all)
			stopped(t, rule, "("+strings.Repeat("lo", n), 50)
		}
	}
	short := steadytest.Cost(t, cost(10_000))
	if took, ok := steadytest.Within(t, 24*short+20*time.Millisecond, cost(80_000)); !ok {
		t.Errorf("%v, and %v for an eighth", took, short)
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

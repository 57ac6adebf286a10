// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// replacer puts a text in the place of each of another, and keeps back what may be the beginning of
// one. Whatever the pieces, it makes the same of all of a text.
type replacer struct {
	from, to string
	held     []string // after each call
	lasts    int
	err      error
}

func (r *replacer) Filter(text string, last bool) (shown string, _ error) {
	if len(r.held) > 0 {
		text = r.held[len(r.held)-1] + text
	}
	for i := strings.Index(text, r.from); i >= 0; i = strings.Index(text, r.from) {
		shown, text = shown+text[:i]+r.to, text[i+len(r.from):]
	}
	keep := Overlap(text, r.from)
	if last {
		r.lasts++
		keep = 0
	}
	r.held = append(r.held, text[len(text)-keep:])
	return shown + text[:len(text)-keep], r.err
}

func (r *replacer) Unfilter(calls int) { r.held = r.held[:len(r.held)-calls] }

// letters are a vocabulary of few letters, so that what is looked for is there.
type letters struct{}

func (letters) Piece(t chain.Token) string {
	return []string{"", "a", "b", "ab", "c", "aab", "é", "\xc3", "\xa9"}[t]
}
func (letters) ControlText(chain.Token) string     { return "" }
func (letters) EndOfGeneration(t chain.Token) bool { return t == 0 }

// reader is who reads an answer: it follows what is shown and taken back.
type reader struct{ text string }

func (r *reader) read(t *testing.T, a *Answer) {
	t.Helper()
	for _, s := range a.Output().Shown {
		switch {
		case s.IsToken():
			r.text += s.Text
		case !strings.HasSuffix(r.text, s.Text):
			t.Fatalf("%q is taken back of %q", s.Text, r.text)
		default:
			r.text = strings.TrimSuffix(r.text, s.Text)
		}
	}
	a.Output().Reset()
}

// Whatever is drawn, injected and taken back, a reader has in the end what the filters make, each
// of what the one before it shows, of the text that a reader of the same answer without filters
// has.
func TestAnswer_Filters_RandomWorld(t *testing.T) {
	r := steadytest.Rand(t)
	for range 200 {
		first, second := &replacer{from: "ab", to: "XYX"}, &replacer{from: "XYXc", to: "!"}
		var stops []string
		if r.IntN(2) == 0 {
			stops = []string{"bbc"}
		}
		answers := [2]*Answer{letterAnswer(nil, stops...), letterAnswer([]Filter{first, second}, stops...)}
		var readers [2]reader
		for n := r.IntN(60); n > 0 && answers[0].Output().Reason == 0; n-- {
			act, token, back := r.IntN(5), chain.Token(1+r.IntN(8)), r.IntN(min(answers[0].Generated(), 6)+1)
			for i, a := range answers {
				switch act {
				case 0:
					a.Inject([]chain.Token{token, token})
				case 1:
					must.Do(t, a.Rewind(back))
				default:
					a.Advance(token, Details{})
				}
				readers[i].read(t, a)
			}
		}
		for i, a := range answers {
			a.Finish("")
			readers[i].read(t, a)
			readers[i].text += a.Flush()
		}
		want := strings.ReplaceAll(strings.ReplaceAll(readers[0].text, "ab", "XYX"), "XYXc", "!")
		if readers[1].text != want || first.lasts != 1 || second.lasts != 1 {
			t.Fatalf("of %q the client has %q, want %q; the filters have seen its end %d and %d times", readers[0].text, readers[1].text, want, first.lasts, second.lasts)
		}
	}
}

func letterAnswer(filters []Filter, stops ...string) *Answer {
	a := New(chain.New(nil, 9, 0), []chain.Token{1}, Settings{Filters: filters, Stop: stops, Longest: 1000, VocabularySize: 9, Vocabulary: letters{}})
	_ = a.Begin() // of no stages
	return a
}

// What no filter has seen is not shown when an answer is ended from outside, or a filter fails.
func TestAnswer_Flush_NothingUnfiltered(t *testing.T) {
	begin := func(f *replacer) *Answer {
		a := letterAnswer([]Filter{f}, "cc")
		a.Advance(1, Details{})
		a.Advance(4, Details{})
		return a
	}
	a := begin(&replacer{from: "acb", to: "X"})
	if got := a.Flush(); got != "" {
		t.Errorf("cancelled: %q", got)
	}
	boom := errors.New("boom")
	a = begin(&replacer{from: "z", err: boom})
	if out := a.Output(); out.Reason != ReasonError || !errors.Is(out.Err, boom) || a.Flush() != "" {
		t.Errorf("failed: %+v", out)
	}
}

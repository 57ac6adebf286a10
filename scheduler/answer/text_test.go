// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// feed gives text to a matcher in pieces and returns all that was shown, including what an end
// shows.
func feed(t *testing.T, tx *text, pieces []string) (shown string, end bool, stop string) {
	t.Helper()
	for _, p := range pieces {
		v := must.Get(tx.add(0, p))(t)
		shown += v.text
		if v.ends != 0 {
			return shown, true, v.stop
		}
	}
	return shown + tx.flush(), false, ""
}

func TestText_Add_ShowsWholeCharactersOnly(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{"a", "b"}, "ab"},
		{[]string{"\xe2", "\x82", "\xac!"}, "€!"},
		{[]string{"x\xf0\x9f", "\x90\xb8"}, "x🐸"},
		{[]string{"\xff", "y"}, "\uFFFDy"},
		{[]string{"\xe2\x82", "z"}, "\uFFFDz"},
		{[]string{"\xe2\x82"}, ""},
		{[]string{"\x80\x80"}, "\uFFFD"},
	} {
		tx := newText(nil, nil)
		if got, _, _ := feed(t, &tx, c.pieces); got != c.want {
			t.Errorf("%q shows %q, want %q", c.pieces, got, c.want)
		}
	}
}

func TestText_Add_HoldsBackPartialStops(t *testing.T) {
	for _, c := range []struct {
		stops, pieces []string
		want, stop    string
	}{
		{[]string{"END"}, []string{"so E", "N", "D now"}, "so ", "END"},
		{[]string{"END"}, []string{"so E", "N", "TER"}, "so ENTER", ""},
		{[]string{"aab"}, []string{"a", "a", "a", "b"}, "a", "aab"},
		{[]string{"xyz", "yz"}, []string{"wx", "yz"}, "w", "xyz"},
		{[]string{"b", "abc"}, []string{"a", "b"}, "a", "b"},
		{[]string{"€"}, []string{"1\xe2", "\x82", "\xac2"}, "1", "€"},
		{[]string{"\n\n"}, []string{"a\n", "b\n", "\nc"}, "a\nb", "\n\n"},
	} {
		tx := newText(c.stops, nil)
		got, _, stop := feed(t, &tx, c.pieces)
		if got != c.want || stop != c.stop {
			t.Errorf("stops %q in %q: shown %q by %q, want %q by %q", c.stops, c.pieces, got, stop, c.want, c.stop)
		}
	}
}

// rule ends or holds at given calls.
type rule struct {
	verdicts []Verdict
	seen     string
}

func (r *rule) Check(_ chain.Token, text string) (Verdict, error) {
	r.seen += text
	if len(r.verdicts) == 0 {
		return Verdict{}, nil
	}
	v := r.verdicts[0]
	r.verdicts = r.verdicts[1:]
	return v, nil
}

func (r *rule) Close() error { return nil }

func TestText_Add_ObeysRules(t *testing.T) {
	hold, pass := Verdict{Hold: true}, Verdict{}
	for name, c := range map[string]struct {
		verdicts []Verdict
		want     string
		end      bool
	}{
		"pass":      {[]Verdict{pass, pass, pass}, "abcdef", false},
		"hold":      {[]Verdict{hold, hold, hold}, "abcdef", false}, // shown at the end
		"end all":   {[]Verdict{pass, {End: true, Show: -1}}, "abcd", true},
		"end none":  {[]Verdict{pass, hold, {End: true}}, "ab", true},
		"end after": {[]Verdict{pass, hold, {End: true, Show: 3}}, "abcde", true},
	} {
		r := &rule{verdicts: c.verdicts}
		tx := newText([]string{"never"}, []StopRule{r})
		got, end, _ := feed(t, &tx, []string{"ab", "cd", "ef"})
		if got != c.want || end != c.end {
			t.Errorf("%s: %q %v, want %q %v", name, got, end, c.want, c.end)
		}
	}
}

// textModel is what must be shown, found out the plain way: all that stays of the answer is looked
// at anew for each token.
type textModel struct {
	stops   []string
	ruled   bool
	pieces  []string // of the tokens that stay
	shown   int      // bytes of their text
	release int      // so far the rule lets text through
}

// text is that of all tokens that stay: whole characters, each with the token that completes it.
// Bytes that are none become one U+FFFD a token.
func (m *textModel) text() string {
	text, rest := "", ""
	for _, piece := range m.pieces {
		rest += piece
		invalid := false
		for rest != "" && utf8.FullRuneInString(rest) {
			r, size := utf8.DecodeRuneInString(rest)
			bad := r == utf8.RuneError && size == 1
			if !bad || !invalid {
				text += string(r)
			}
			invalid, rest = bad, rest[size:]
		}
	}
	return text
}

// add gives what a token shows and whether it ends the answer.
func (m *textModel) add(piece string, v Verdict) (shown string, end bool, stop string) {
	m.pieces = append(m.pieces, piece)
	all := m.text()
	cut := len(all)
	for _, s := range m.stops {
		if i := strings.Index(all, s); i >= 0 && (!end || i < cut) {
			end, cut, stop = true, i, s
		}
	}
	limit := len(all)
	for _, s := range m.stops {
		for n := 1; n < len(s); n++ {
			if strings.HasSuffix(all, s[:n]) {
				limit = min(limit, len(all)-n)
			}
		}
	}
	if m.ruled {
		at := len(all)
		if v.Show >= 0 {
			at = min(m.release+v.Show, at)
		}
		switch {
		case v.End && (!end || at < cut):
			end, cut, stop = true, at, ""
		case !v.End && v.Hold:
			m.release = min(m.release+max(v.Show, 0), len(all))
		case !v.End:
			m.release = len(all)
		}
		limit = min(limit, m.release)
	}
	if end {
		limit = cut
	}
	limit = max(limit, m.shown)
	shown, m.shown = all[m.shown:limit], limit
	return shown, end, stop
}

// rewind gives what was shown of the text that is taken back.
func (m *textModel) rewind(n int) (removed string) {
	before := m.text()
	m.pieces = m.pieces[:len(m.pieces)-n]
	all := len(m.text())
	removed = before[min(m.shown, all):m.shown]
	m.shown, m.release = min(m.shown, all), min(m.release, all)
	return removed
}

// script drives a text and its model with the same tokens, rewinds and verdicts, as bytes tell,
// and compares all that is shown.
type script struct {
	t      *testing.T
	bytes  []byte
	rule   *rule
	text   text
	model  textModel
	pieces pieces
}

// pieces is a vocabulary whose tokens are what was fed so far.
type pieces []string

func (p *pieces) Piece(t chain.Token) string       { return (*p)[t] }
func (p *pieces) ControlText(t chain.Token) string { return p.Piece(t) }
func (*pieces) EndOfGeneration(t chain.Token) bool { return false }

func (s *script) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

func (s *script) run(stops []string) {
	s.model.stops = stops
	s.model.ruled = s.next()%2 == 1
	var rules []StopRule
	if s.model.ruled {
		s.rule = &rule{}
		rules = append(rules, s.rule)
	}
	s.text = newText(stops, rules)
	var kept []chain.Token
	for len(s.bytes) > 0 {
		op := s.next()
		if op%5 == 4 {
			n := min(1+int(op/5)%3, len(kept))
			if n > 0 {
				got, want := s.text.rewind(n, kept, &s.pieces), s.model.rewind(n)
				if kept = kept[:len(kept)-n]; got != want {
					s.t.Fatalf("back to %q with stops %q: %q is removed, want %q", s.model.pieces, stops, got, want)
				}
			}
			continue
		}
		n := min(int(op)%5, len(s.bytes))
		piece := string(s.bytes[:n])
		s.bytes = s.bytes[n:]
		var v Verdict
		if s.model.ruled {
			b := s.next()
			v = Verdict{Hold: b%3 == 1, End: b%16 == 15, Show: int(b/16) - 1}
			s.rule.verdicts = []Verdict{v}
		}
		kept = append(kept, chain.Token(len(s.pieces)))
		s.pieces = append(s.pieces, piece)
		got := must.Get(s.text.add(kept[len(kept)-1], piece))(s.t)
		want, end, stop := s.model.add(piece, v)
		if got.text != want || (got.ends != 0) != end || got.stop != stop {
			s.t.Fatalf("after %q with stops %q: shows %q, ends %v at %q; want %q, %v, %q", s.model.pieces, stops, got.text, got.ends != 0, got.stop, want, end, stop)
		}
		if end {
			return
		}
	}
	if got, want := s.text.flush(), s.model.text()[s.model.shown:]; got != want {
		s.t.Fatalf("after %q with stops %q: the end shows %q, want %q", s.model.pieces, stops, got, want)
	}
}

// FuzzText compares with the model: whatever the pieces, stop strings, rewinds and verdicts,
// exactly the same is shown with each token.
func FuzzText(f *testing.F) {
	f.Add([]byte("\x00\x03abc\x01x\x04\x01c\x04\x01d"), "abc", "bd")
	f.Add([]byte("\x00\x02\xe2\x82\x01\xac\x04\x01\xac"), "", "")
	f.Add([]byte("\x01\x02ab\x01\x02cd\x00\x04\x01z\x0f"), "cd", "")
	f.Fuzz(func(t *testing.T, bytes []byte, stop1, stop2 string) {
		var stops []string
		for _, s := range []string{stop1, stop2} {
			if s != "" && utf8.ValidString(s) {
				stops = append(stops, s)
			}
		}
		(&script{t: t, bytes: bytes}).run(stops)
	})
}

// TestText_RandomScripts_ShowWhatTheModelShows is the fuzz test's comparison over few letters,
// where stop strings and parts of characters are common.
func TestText_RandomScripts_ShowWhatTheModelShows(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 2))
	letters := []string{"a", "b", "ab", "c", "€", "\xe2", "\x82", "\xac", "\xff"}
	word := func(most int) string {
		w := ""
		for range 1 + rng.IntN(most) {
			w += letters[rng.IntN(len(letters))]
		}
		return w
	}
	for range 20_000 {
		bytes := []byte{byte(rng.IntN(2))}
		for range rng.IntN(30) {
			bytes = append(bytes, byte(rng.IntN(16)))
			bytes = append(bytes, word(2)...)
		}
		var stops []string
		for range rng.IntN(3) {
			stops = append(stops, strings.ToValidUTF8(word(4), "a"))
		}
		(&script{t: t, bytes: bytes}).run(stops)
	}
}

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

// SPDX-License-Identifier: MIT

package answer

import (
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
)

// feed gives text to a matcher in pieces and returns all that was shown, including what an end
// shows.
func feed(t *testing.T, tx *text, pieces []string) (shown string, end bool, stop string) {
	t.Helper()
	for _, p := range pieces {
		v, err := tx.add(0, p)
		if err != nil {
			t.Fatal(err)
		}
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

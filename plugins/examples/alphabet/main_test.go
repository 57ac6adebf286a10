// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// pieces are all bytes, the end, a control token, and some longer tokens.
func pieces(more ...string) (all []string) {
	for b := range 256 {
		all = append(all, string([]byte{byte(b)}))
	}
	return append(append(all, "", ""), more...)
}

const (
	end penstock.Token = 256 + iota
	control
	longer
)

func open(t *testing.T, config string, more ...string) *plugintest.Session {
	return plugintest.Open[alphabet](t, plugintest.Request{Config: config, Pieces: pieces(more...),
		Attributes: map[penstock.Token]penstock.Attributes{end: penstock.AttrControl | penstock.AttrEnd, control: penstock.AttrControl}})
}

// may reports which of some tokens the next may be.
func may(s *plugintest.Session, tokens ...penstock.Token) (which []bool) {
	mask := s.Prepare().Mask
	for _, t := range tokens {
		which = append(which, mask == nil || mask[t/32]>>(t%32)&1 == 1)
	}
	return which
}

// TestAlphabet_Prepare_AnyWalkKeepsTheLetters draws any tokens that may come, with scripts and
// letters of several lengths in UTF-8: there is always one, the text is always valid, and no letter
// of another script is in it.
func TestAlphabet_Prepare_AnyWalkKeepsTheLetters(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	more := []string{"the", "да", "日本", "\xe6\x97", "\x9f", "\xd0", "\xb0\xd0", "ß", "\xf0\x9f", "\x98\x80", "é日", "。", "नम", "\x80\x80", "\xcc", "\xe0\xa4"}
	for _, c := range []struct {
		config  string
		allowed func(r rune) bool
	}{
		{`{"scripts":["Latin"]}`, func(r rune) bool { return unicode.Is(unicode.Latin, r) }},
		{`{"scripts":["Cyrillic"],"letters":"xyz"}`, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) || strings.ContainsRune("xyz", r) }},
		{`{"scripts":["Han","Hiragana","Katakana"]}`, func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }},
		{`{"scripts":["Devanagari"]}`, func(r rune) bool { return unicode.Is(unicode.Devanagari, r) }},
		{`{"letters":"abcß𐍈"}`, func(r rune) bool { return strings.ContainsRune("abcß𐍈", r) }},
	} {
		s, text, letters := open(t, c.config, more...), "", 0
		all := pieces(more...)
		for range 2000 {
			mask, can := s.Prepare().Mask, []penstock.Token(nil)
			for id := range penstock.Token(len(all)) {
				if id != end && mask[id/32]>>(id%32)&1 == 1 {
					can = append(can, id)
				}
			}
			if len(can) == 0 {
				t.Fatalf("seed %d: %s: nothing may follow %q", seed, c.config, text[max(0, len(text)-8):])
			}
			next := can[r.IntN(len(can))]
			if r.IntN(3) > 0 { // not only what is written in ASCII
				if high := can[len(can)-1-r.IntN(min(len(can), 40))]; high != control {
					next = high
				}
			}
			text += all[next]
			s.Accept(next)
		}
		for len(text) > 0 {
			r, size := utf8.DecodeRuneInString(text)
			switch {
			case r == utf8.RuneError && size < 2 && utf8.FullRuneInString(text):
				t.Fatalf("seed %d: %s: bytes %q that are no character", seed, c.config, text[:min(4, len(text))])
			case r == utf8.RuneError && size < 2: // the last character is not complete
				size = len(text)
			case c.allowed(r):
				letters++
			case unicode.IsLetter(r) && !unicode.In(r, unicode.Common, unicode.Inherited):
				t.Fatalf("seed %d: %s: the letter %q", seed, c.config, r)
			}
			text = text[size:]
		}
		if letters < 50 {
			t.Errorf("%s: only %d letters came, so little was tested", c.config, letters)
		}
	}
}

func TestAlphabet_Prepare_InsideACharacter(t *testing.T) {
	// The alphabet has letters that begin with CE, but the model has no token for the rest of one.
	s := plugintest.Open[alphabet](t, plugintest.Request{Config: `{"scripts":["Greek"]}`, Pieces: []string{"\xcf", "\xce", "\x80", "a", "", "\xd0"},
		Attributes: map[penstock.Token]penstock.Attributes{4: penstock.AttrEnd}})
	if got := may(s, 0, 1, 2, 3, 4, 5); !got[0] || got[1] || got[2] || got[3] || !got[4] || got[5] {
		t.Errorf("between characters: %v", got)
	}
	s.Accept(0)
	if got := may(s, 0, 1, 2, 3, 4); got[0] || got[1] || !got[2] || got[3] || got[4] {
		t.Errorf("inside one: %v", got)
	}
	s.Accept(2)
	if got := may(s, 0, 4); !got[0] || !got[1] {
		t.Errorf("behind it: %v", got)
	}
	s.Accept(0)
	s.Accept(3) // of a client, say: that is no character
	if got := may(s, 0, 2, 4); !got[0] || got[1] || !got[2] {
		t.Errorf("behind what is no character: %v", got)
	}
}

func TestAlphabet_Prepare_CodeBlocks(t *testing.T) {
	type step struct {
		text string
		free bool // after it Latin letters may come
	}
	for name, c := range map[string]struct {
		config string
		steps  []step
	}{
		"off":                        {`{"scripts":["Cyrillic"]}`, []step{{"```", false}, {"\n", false}}},
		"a block":                    {`{"scripts":["Cyrillic"],"code_blocks":true}`, []step{{"да\n  `", false}, {"``", true}, {"go\nx := `a`", true}, {"\n``", true}, {"`", false}, {"\n", false}}},
		"not within a line":          {`{"scripts":["Cyrillic"],"code_blocks":true}`, []step{{"да ```", false}, {"\n    ```", false}}},
		"a longer one":               {`{"scripts":["Cyrillic"],"code_blocks":true}`, []step{{"````\n```\n", true}, {"````", false}}},
		"behind the end none begins": {`{"scripts":["Cyrillic"],"code_blocks":true}`, []step{{"```\n``````", false}, {"\n```", true}}},
	} {
		s := open(t, c.config)
		for i, step := range c.steps {
			for _, b := range []byte(step.text) {
				s.Accept(penstock.Token(b))
			}
			if got := may(s, 'x')[0]; got != step.free {
				t.Errorf("%s: after step %d, %q, a Latin letter may come: %v", name, i, step.text, got)
			}
		}
	}
	// Tokens in which a block begins or ends.
	s := open(t, `{"scripts":["Cyrillic"],"code_blocks":true}`, "```python\n", "```\n\nx", "a```b", "\n```\n")
	want := func(when string, tokens ...bool) {
		t.Helper()
		for i, got := range may(s, longer, longer+1, longer+2, longer+3) {
			if got != tokens[i] {
				t.Errorf("%s: token %d may come: %v", when, i, got)
			}
		}
	}
	want("at the beginning", true, true, false, true)
	s.Accept('-')
	want("in a line", false, false, false, true)
	s.Accept(longer + 3)
	want("in a block", false, false, true, true)
}

func TestAlphabet_Prepare_Parts(t *testing.T) {
	reasoning, call := penstock.Reasoning, penstock.ToolCall
	for config, free := range map[string][2]bool{`{"scripts":["Greek"]}`: {true, true}, `{"scripts":["Greek"],"parts":["content","reasoning"]}`: {false, true}} {
		s := open(t, config)
		for i, part := range []*penstock.Part{&reasoning, &call} {
			if s.Part = part; may(s, 'x')[0] != free[i] {
				t.Errorf("%s: in part %d a Latin letter may come: %v", config, *part, !free[i])
			}
		}
	}
}

// TestLetters_HasAny_AgreesWithHas looks at each character of ranges as bytes in UTF-8 make them.
func TestLetters_HasAny_AgreesWithHas(t *testing.T) {
	for _, names := range [][]string{{"Latin"}, {"Arabic", "Georgian"}, {"Katakana"}, {"Tamil"}, nil} {
		l := newLetters(names, "ж𐍈")
		for lo := rune(0x80); lo < 0x20000; lo += 0x40 {
			any := false
			for r := lo; r < lo+0x40; r++ {
				any = any || l.has(r)
			}
			if got := l.hasAny(lo, lo+0x3F); got != any {
				t.Fatalf("%v: from %#x to %#x: %v, want %v", names, lo, lo+0x3F, got, any)
			}
		}
	}
	for r, want := range map[rune][]string{'。': {"Han"}, '゚': {"Katakana"}, '－': {"Hangul"}, '،': {"Arabic"}, '।': {"Tamil"}, '…': {"Latin", "Han", "Thai"}, '😀': {"Greek"}} {
		for _, name := range []string{"Latin", "Han", "Thai", "Katakana", "Hangul", "Arabic", "Tamil", "Greek"} {
			if l := newLetters([]string{name}, ""); slices.Contains(want, name) && !l.has(r) || len(want) == 1 && name == "Latin" && r != '😀' && l.has(r) {
				t.Errorf("%s has %q: %v", name, r, l.has(r))
			}
		}
	}
}

// TestAlphabet_Prepare_OthersCharacter has a client begin a letter that may not come.
func TestAlphabet_Prepare_OthersCharacter(t *testing.T) {
	s := open(t, `{"scripts":["Greek"]}`)
	s.Accept(0xD0)
	if got := may(s, end, 0xB0, 0xCE); !got[0] || got[1] || !got[2] {
		t.Errorf("after half a Cyrillic letter: %v", got)
	}
}

func TestAlphabet_Plan_RefusesNoLetters(t *testing.T) {
	if _, err := plugintest.TryOpen[alphabet](t, plugintest.Request{Config: `{"letters":""}`}); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "scripts") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/examples/internal/word"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// pieces are the letters, bytes of quotation marks, and tokens in which quotes begin and end.
var pieces = strings.Split("|a|b|c| |\n|\"|“|”|\xe2|\x80|\x9c|\x9d|ab|b c| a|\"a|\"ab|b\"|b\" |\".|“a|c”|\"\"|”“|>|> a|\n>|é|x|b\nc|.|\" \"b", "|")

func prompt(text string) (tokens []penstock.Token) {
	for text != "" {
		best := 0
		for t, p := range pieces {
			if strings.HasPrefix(text, p) && len(p) > len(pieces[best]) {
				best = t
			}
		}
		tokens, text = append(tokens, penstock.Token(best)), text[len(pieces[best]):]
	}
	return tokens
}

func has(mask []uint32, t int) bool { return mask[t/32]>>(t%32)&1 == 1 }

// wrong is a quote in a text that the source does not have; an open one at the end may go on.
func wrong(text, source string, lines, whole bool) (string, bool) {
	normal := strings.Join(strings.Fields(source), " ")
	text = "\n" + text
	for at := 0; at < len(text); {
		var open, closing string
		for _, p := range []pair{{`"`, `"`}, {"“", "”"}, {"\n>", "\n"}} {
			if strings.HasPrefix(text[at:], p.open) && (lines || p.open != "\n>") {
				open, closing = p.open, p.close
			}
		}
		if open == "" {
			at++
			continue
		}
		span, _, closed := strings.Cut(text[at+len(open):], closing)
		if !closed {
			if i := strings.IndexFunc(span, func(c rune) bool { return c == utf8.RuneError }); i >= 0 {
				span = span[:i]
			}
		}
		words := strings.Join(strings.Fields(span), " ")
		found := false
		for i := range normal {
			rest, has := strings.CutPrefix(normal[i:], words)
			c, _ := utf8.DecodeRuneInString(rest)
			last, _ := utf8.DecodeLastRuneInString(words)
			found = found || has && (!closed || !whole || rest == "" || !word.Has(c) || !word.Has(last) || strings.TrimSpace(span[len(span)-1:]) == "")
		}
		if !found || closed && words == "" {
			return span, true
		}
		if at += len(open) + len(span); closed && closing != "\n" {
			at += len(closing)
		}
	}
	return "", false
}

// A model that picks at random whatever is allowed quotes nothing but the source.
func TestVerbatim_Prepare_QuotesTheSource(t *testing.T) {
	const source = "ab cab. a\n\nbc éa b caab” bb"
	for name, c := range map[string]struct {
		config       string
		lines, whole bool
	}{
		"prompt":        {`{}`, false, true},
		"lines":         {`{"lines":true}`, true, true},
		"parts of word": {`{"whole_words":false}`, false, false},
		"documents":     {`{"documents":["ab cab. a\n\nbc éa b caab” bb"]}`, false, true},
	} {
		quotes := 0
		for seed := range uint64(20) {
			p := []penstock.Token{1, 2, 30}
			if name != "documents" {
				p = prompt(source)
			}
			s := plugintest.Open[verbatim](t, plugintest.Request{Config: c.config, Pieces: pieces, Prompt: p})
			r := rand.New(rand.NewPCG(seed, 3))
			text := ""
			for range 150 {
				mask := s.Prepare().Mask
				var fit []penstock.Token
				for t := range pieces {
					if pieces[t] != "" && has(mask, t) {
						fit = append(fit, penstock.Token(t))
					}
				}
				if len(fit) == 0 {
					t.Fatalf("%s: nothing may follow %q", name, text)
				}
				token := fit[r.IntN(len(fit))]
				s.Accept(token)
				text += pieces[token]
				quotes += strings.Count(pieces[token], `"`)
				if span, is := wrong(text, source, c.lines, c.whole); is {
					t.Fatalf("%s, seed %d: %q quotes %q", name, seed, text, span)
				}
			}
		}
		if quotes < 100 {
			t.Errorf("%s: there were only %d quotation marks", name, quotes)
		}
	}
}

// The mask of a quote has every token that the machine takes, and no other, and the source has a
// text in as many places as a search finds.
func TestVocabulary_Inside_IsWhatTheMachineTakes(t *testing.T) {
	plugintest.Open[verbatim](t, plugintest.Request{Pieces: pieces})
	v := sorted(penstock.ReadVocabulary())
	r, between := rand.New(rand.NewPCG(4, 4)), 0
	for range 200 {
		text := make([]byte, 1+r.IntN(40))
		for i := range text {
			text[i] = "aabbc ."[r.IntN(7)]
		}
		var n normal
		n.add(text)
		m := machine{marks{[]pair{{`"`, `"`}, {"“", "”"}}, r.IntN(2) == 0}, newSource(n.bytes)}
		s, begin := m.opened(r.IntN(2)), r.IntN(len(n.bytes)+1)
		for i, c := range n.bytes[begin:] {
			mask := make([]uint32, 2)
			if any := v.inside(&m, s, mask); any != (mask[0]|mask[1] != 0) {
				t.Fatalf("inside tells %v of the mask %b", any, mask)
			}
			for token, piece := range pieces {
				fits := piece != "" && m.fits(s, []byte(piece))
				if fits != (has(mask, token)) {
					t.Fatalf("in %q after %q the token %q fits: %v", n.bytes, n.bytes[begin:begin+i], piece, fits)
				}
				if fits {
					between++
				}
			}
			s, _ = m.step(s, c)
			want := 0
			for at := range n.bytes {
				if strings.HasPrefix(string(n.bytes[at:]), string(n.bytes[begin:begin+i+1])) {
					want++
				}
			}
			if got := int(s.places.hi - s.places.lo); got != want && begin+i > begin { // a space in front is skipped
				if n.bytes[begin] != ' ' {
					t.Fatalf("in %q the text %q has %d places, want %d", n.bytes, n.bytes[begin:begin+i+1], got, want)
				}
			}
		}
	}
	if between == 0 {
		t.Error("no token ever fits")
	}
}

// Long sources that repeat themselves are sorted, too.
func TestSource_New_Sorts(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("a", 1000), strings.Repeat("ab c", 300) + "b", "banana\x00banana"} {
		s := newSource([]byte(text))
		if !slices.IsSortedFunc(s.suffixes, func(a, b int32) int { return strings.Compare(text[a:], text[b:]) }) || len(s.suffixes) != len(text) {
			t.Errorf("%.20q: %v", text, s.suffixes)
		}
	}
}

// The first token of the content was chosen while the answer was still reasoning: if it opens a
// quote that is not in the source, it is drawn again.
func TestVerbatim_Accept_FirstOfContent(t *testing.T) {
	s := plugintest.Open[verbatim](t, plugintest.Request{Pieces: pieces, Prompt: prompt("bc")})
	part := penstock.Reasoning
	s.Part = &part
	if s.Prepare().Mask != nil || s.Accept(16).Splice || s.Accept(6).Splice { // "a and another mark
		t.Fatal("reasoning is restricted")
	}
	s.Prepare()
	part = penstock.Content
	if a := s.Accept(16); !a.Splice || a.Backtrack != 1 {
		t.Fatalf("%+v", a)
	}
	part = penstock.Reasoning
	if mask := s.Prepare().Mask; mask == nil || has(mask, 16) || !has(mask, 6) {
		t.Fatalf("drawn again with the mask %b", mask)
	}
	part = penstock.Content
	s.Accept(6)
	if mask := s.Prepare().Mask; has(mask, 1) || !has(mask, 2) {
		t.Errorf("in the quote the mask is %b", mask)
	}
	s.Rewind(len(s.Prompt) + 2)
	if mask := s.Prepare().Mask; !has(mask, 1) {
		t.Errorf("after the quote was taken back the mask is %b", mask)
	}
}

func TestVerbatim_Open_Refusals(t *testing.T) {
	_, err := plugintest.TryOpen[verbatim](t, plugintest.Request{Config: `{"documents":["` + strings.Repeat("ab", 60_000) + `","` + strings.Repeat("b", 100_000) + `"]}`, Pieces: pieces})
	if !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "220002 bytes") {
		t.Errorf("two long documents: %v", err)
	}
}

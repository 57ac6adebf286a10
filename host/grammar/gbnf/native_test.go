// SPDX-License-Identifier: MIT

package gbnf_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/steadytest"
)

// model is a vocabulary as llama.cpp has it, with what its grammars take as the texts of tokens.
type model struct {
	*native.Model
	v      *grammar.Vocabulary
	pieces []string

	ambiguous int // texts that llama.cpp's automaton followed further
}

func load(t *testing.T, path string) *model {
	t.Helper()
	m, err := native.LoadModel(t.Context(), path, native.ModelOptions{VocabOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &model{Model: m}
	var pieces [][]byte
	var end []int32
	for token := range int32(m.Info().Vocabulary) {
		l.pieces = append(l.pieces, m.SpecialPiece(token))
		pieces = append(pieces, []byte(l.pieces[token]))
		if m.EndOfGeneration(token) {
			end = append(end, token)
		}
	}
	l.v = grammar.NewVocabulary(pieces, end, nil)
	return l
}

// both follows a text of random tokens in llama.cpp's automaton and in ours. It returns how many
// were compared.
func (m *model) both(t *testing.T, r *rand.Rand, text string, most int) int {
	t.Helper()
	old, err := native.NewGrammar(m.Model, text, "")
	if err != nil {
		return 0 // what it refuses is refused by its own bounds
	}
	defer old.Close()
	g, err := gbnf.Parse(text, "", gbnf.Tokens{Count: len(m.pieces)})
	if err != nil {
		t.Fatalf("%s\nis refused: %v", text, err)
	}
	s := g.Start()
	want, got := make([]uint32, m.v.Words()), make([]uint32, m.v.Words())
	written := ""
	for n := range most {
		if !utf8.ValidString(written) && strings.Contains(text, "<[") {
			return n // where a token is read both by its number and as half a character, llama.cpp's loses one
		}
		if err := old.Mask(want); err != nil {
			return n // too ambiguous for it
		}
		switch err := g.Mask(s, m.v, got); {
		case errors.Is(err, grammar.ErrAmbiguous):
			m.ambiguous++
			return n
		case err != nil:
			t.Fatalf("%s\nafter %q: %v", text, written, err)
		}
		var allowed []int32
		for token := range int32(len(m.pieces)) {
			bit := got[token/32] >> (token % 32) & 1
			if bit != want[token/32]>>(token%32)&1 && !noCharacter.MatchString(latin(written+m.pieces[token])) {
				t.Fatalf("%s\nafter %q token %d, %q: llama.cpp's %v, ours %v", text, written, token, m.pieces[token], bit == 0, bit == 1)
			}
			if bit == 1 && !m.EndOfGeneration(token) {
				allowed = append(allowed, token)
			}
		}
		if len(allowed) == 0 {
			return n
		}
		token := m.choose(r, allowed)
		written += m.pieces[token]
		if ok, err := old.Accept(token); !ok || err != nil {
			return n
		}
		var ok bool
		if s, ok, err = g.Token(s, m.v, token); errors.Is(err, grammar.ErrAmbiguous) {
			m.ambiguous++
			return n
		} else if !ok || err != nil {
			t.Fatalf("%s\nafter %q: %v, %v", text, written, ok, err)
		}
	}
	return most
}

// choose takes a short token more often than a long one, so that texts reach many states.
func (m *model) choose(r *rand.Rand, allowed []int32) int32 {
	token := allowed[r.IntN(len(allowed))]
	for range 4 {
		if other := allowed[r.IntN(len(allowed))]; len(m.pieces[other]) < len(m.pieces[token]) {
			token = other
		}
	}
	return token
}

// noCharacter is what llama.cpp takes for a character, or for the beginning of one: surrogates, and
// what is beyond Unicode.
var noCharacter = regexp.MustCompile("(?s)" + latin("\xed[\xa0-\xbf]|\xf4[\x90-\xbf]"))

// latin has a character for each byte.
func latin(bytes string) string {
	var b strings.Builder
	for i := range len(bytes) {
		b.WriteRune(rune(bytes[i]))
	}
	return b.String()
}

// The grammars of llama-server allow the same tokens as in llama.cpp's automaton.
func TestParse_ServerGrammars_AgainstNative(t *testing.T) {
	steadytest.SkipRaced(t, "one goroutine alone; TestGrammar_Hammer")
	source := filepath.Join("..", "..", "..", "build", "llama.cpp", "source-*")
	files, err := filepath.Glob(filepath.Join(source, "grammars", "*.gbnf"))
	if err != nil || len(files) == 0 {
		t.Skip("llama.cpp's source is not there")
	}
	vocabularies, err := filepath.Glob(filepath.Join(source, "models", "ggml-vocab-llama-bpe.gguf"))
	if err != nil || len(vocabularies) != 1 {
		t.Fatal(vocabularies, err)
	}
	m := load(t, vocabularies[0])
	r := steadytest.Rand(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if m.both(t, r, string(text), 25)+m.both(t, r, string(text), 25) < 6 {
				t.Error("too few tokens were compared")
			}
		})
	}
}

// Random grammars allow the same tokens as in llama.cpp's automaton.
func TestParse_RandomGrammars_AgainstNative(t *testing.T) {
	steadytest.SkipRaced(t, "one goroutine alone; TestGrammar_Hammer")
	m := load(t, filepath.Join("..", "..", "model", "penstock-tiny.gguf"))
	r := steadytest.Rand(t)
	compared := 0
	for range 3000 {
		compared += m.both(t, r, randomText(r, len(m.pieces)), 10)
	}
	t.Logf("%d tokens were compared, %d texts were too ambiguous for ours alone", compared, m.ambiguous)
	if compared < 1000 || m.ambiguous > 100 {
		t.Error("too few, or too many")
	}
}

// randomText is a grammar, each of whose rules has a text.
func randomText(r *rand.Rand, vocabulary int) string {
	n := 1 + r.IntN(4)
	name := func(i int) string { return []string{"root", "b", "c-1", "D"}[i] }
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s ::= %s", name(i), randomItem(r, vocabulary))
		for range r.IntN(3) {
			b.WriteString(" | ")
			for range r.IntN(4) {
				b.WriteString([]string{randomItem(r, vocabulary), name(r.IntN(n)), "(" + randomItem(r, vocabulary) + " | " + name(r.IntN(n)) + ")"}[r.IntN(3)])
				b.WriteString([]string{" ", " ", " ", "? ", "* ", "+ ", "{0,2} ", "{2} ", "{1,3} "}[r.IntN(9)])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func randomItem(r *rand.Rand, vocabulary int) string {
	items := []string{`"a"`, `"the "`, `[a-z]`, `[^a-e]`, `.`, `"\n"`, `"é"`, `[0-9]{2}`, `""`, `[ \t]`, `"\x41"`, `[a-z é]+`, `"{"`, `","`}
	switch r.IntN(12) {
	case 0:
		return fmt.Sprintf("<[%d]>", r.IntN(vocabulary))
	case 1:
		return fmt.Sprintf("!<[%d]>", r.IntN(vocabulary))
	}
	return items[r.IntN(len(items))]
}

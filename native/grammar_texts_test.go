// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"io"
	"sync"
	"testing"
)

// Answers that follow the same text share it, however many they are: a text of 1 MiB takes much memory. Their states are their own.
func TestGrammar_SameText_IsShared(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	before := LiveObjects().GrammarTexts
	shared := func(want int) {
		t.Helper()
		if n := LiveObjects().GrammarTexts - before; n != want {
			t.Errorf("%d texts, want %d", n, want)
		}
	}
	tokens, err := m.Tokenize(t.Context(), "ab", TokenizeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const text = `root ::= [a-z ]*
other ::= "b"`
	first, err := NewGrammar(m, text, "")
	if err != nil {
		t.Fatal(err)
	}
	open := []io.Closer{first}
	for range 128 {
		s, err := NewSampler(m, grammarOf(text, ""))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	shared(1)
	if ok, err := first.Accept(tokens[0]); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	for _, o := range open[1:] {
		if n, err := o.(*Sampler).CountAllowed(tokens, 0); n != len(tokens) || err != nil {
			t.Fatalf("another answer has come on: %d of %d tokens fit, %v", n, len(tokens), err)
		}
	}
	for _, other := range []struct{ text, root string }{{text, "other"}, {text + " ", ""}} {
		g, err := NewGrammar(m, other.text, other.root)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, g)
	}
	shared(3)
	for _, o := range open {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
	shared(0)
}

// Texts are parsed and dropped on many goroutines at once.
func TestGrammar_SameText_Hammer(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	before := LiveObjects().GrammarTexts
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for k := range 200 {
				g, err := NewGrammar(m, fmt.Sprintf(`root ::= "%d"`, (i+k)%3), "")
				if err != nil {
					t.Error(err)
					return
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n := LiveObjects().GrammarTexts - before; n != 0 {
		t.Errorf("%d texts are left", n)
	}
}

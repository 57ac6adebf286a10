// SPDX-License-Identifier: MIT

package native

import (
	"slices"
	"testing"
)

// A repetition of what may be empty is a rule that can begin with itself, and nothing comes of that. llama.cpp's grammars of tool calls
// have such.
func TestGrammar_Mask_RepetitionOfWhatMayBeEmpty(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for loose, plain := range map[string]string{
		`root ::= ("a"? " "?)+ "b"`:                                        `root ::= [a ]* "b"`,
		`root ::= (("a"? "c"?)+ " "?)+ "b"`:                                `root ::= [ac ]* "b"`,
		"root ::= x \"b\"\nx ::= e y | \"a\"\ny ::= e x | e\ne ::= \" \"?": `root ::= (" "* "a"? ) "b"`,
	} {
		for _, text := range []string{"b", "a a  ab", "   b", " aaaa b", "ab"} {
			tokens, err := m.Tokenize(t.Context(), text, TokenizeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, b := newGrammar(t, m, loose), newGrammar(t, m, plain)
			for _, token := range tokens {
				if !slices.Equal(maskOf(t, m, a), maskOf(t, m, b)) {
					t.Fatalf("%q allows other tokens than %q within %q", loose, plain, text)
				}
				first, err := a.Accept(token)
				if err != nil {
					t.Fatal(err)
				}
				if second, err := b.Accept(token); err != nil || first != second {
					t.Fatalf("%q: %v; the one takes %d: %v, the other %v", text, err, token, first, second)
				}
			}
		}
	}
}

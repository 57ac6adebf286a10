// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/tools/steadytest"
)

func grammarOf(text, root string) SamplerOptions {
	o := greedy()
	o.Grammar, o.GrammarRoot = text, root
	return o
}

// chain writes n rules, each using the next twice.
func chain(n int, last string) string {
	var b strings.Builder
	b.WriteString("root ::= r0 r0\n")
	for i := range n {
		b.WriteString("r" + strconv.Itoa(i) + " ::= r" + strconv.Itoa(i+1) + " r" + strconv.Itoa(i+1) + "\n")
	}
	b.WriteString("r" + strconv.Itoa(n) + " ::= " + last + "\n")
	return b.String()
}

func TestNewSampler_BadGrammar(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	plain := steadytest.Cost(t, func() { closing(t, newSampler(t, m, grammarOf(manyRules(90_000), ""))) })
	for name, text := range map[string]string{
		"nonsense":          "???",
		"no root":           `a ::= "x"`,
		"only space":        " \n\t ",
		"only a comment":    "# nothing",
		"no definition":     "root",
		"undefined rule":    "root ::= nowhere",
		"unclosed literal":  `root ::= "abc`,
		"unclosed class":    "root ::= [abc",
		"half an escape":    `root ::= "\x4`,
		"escape at the end": `root ::= "\`,
		"bad escape":        `root ::= "\q"`,
		"unclosed group":    `root ::= ("a"`,
		"stray close":       `root ::= "a")`,
		"repeat nothing":    "root ::= *",
		"repeat empty":      "root ::= []*",
		"repeat backwards":  `root ::= "a"{5,2}`,
		"repeat backwards 2": `root ::= "a"{ 10 , 9 }
x ::= "b"`,
		"repeat absurdly":  `root ::= "a"{100000000000000000000000}`,
		"repeat too often": `root ::= "a"{1000000,}`,
		"repeat repeats":   `root ::= ((("a"{1000}){1000}){1000}){1000}`,
		"repeat unclosed":  `root ::= "a"{1`,
		"left recursion":   `root ::= root "a" | "b"`,
		"hidden recursion": "root ::= e root \"a\" | \"b\"\ne ::= \"x\"?",
		"mutual recursion": "root ::= a\na ::= b\nb ::= a",
		"exponential":      chain(60, `"x"?`),
		"too deep":         "root ::= " + strings.Repeat("(", 100000) + `"a"` + strings.Repeat(")", 100000),
		"too long":         "root ::= \"" + strings.Repeat("a", 2<<20) + "\"",
		"not UTF-8":        "root ::= (2a\"\xff\x7f \"b\"){3,2} [^c] .",
		"zero byte":        "root ::= \"a\x00\"",
		"unknown token":    "root ::= <nonesuch>",
		"long rule chain":  longChain(200000),
		"empty rule chain": longChain(60000) + "\na60000 ::= \"\"",
		"many repetitions": "root ::= " + strings.Repeat("[a]{0,2000} ", 80000),
		"many braces":      "root ::= " + strings.Repeat("{}", 500000),
		"many commas":      "root ::= " + strings.Repeat("{,}", 340000),
		"many groups":      strings.Repeat("r", 500000) + ` ::= ` + strings.Repeat(`("a")`, 100000),
		"many rules":       manyRules(101000),
	} {
		t.Run(name, func(t *testing.T) {
			took := steadytest.Cost(t, func() {
				if _, err := NewSampler(m, grammarOf(text, "")); !errors.Is(err, ErrInvalid) {
					t.Errorf("got %v, want ErrInvalid", err)
				}
			})
			if took > mostCost*plain {
				t.Errorf("it takes %v, a large grammar %v", took, plain)
			}
		})
	}
}

func longChain(n int) string {
	var b strings.Builder
	b.WriteString("root ::= a0\n")
	for i := range n {
		b.WriteString("a" + strconv.Itoa(i) + "::=a" + strconv.Itoa(i+1) + "\n")
	}
	b.WriteString("a" + strconv.Itoa(n) + "::=\"x\"")
	return b.String()
}

func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("root ::= \"x\"\n")
	for i := range n {
		b.WriteString(strconv.Itoa(i) + "::=\"\"\n")
	}
	return b.String()
}

// TestNewSampler_LargeGrammar: a grammar within the bounds is accepted.
func TestNewSampler_LargeGrammar(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for name, text := range map[string]string{
		"empty rules": longChain(9000) + "\na9000 ::= \"\"",
		"many rules":  manyRules(90000),
		"repetitions": "root ::= " + strings.Repeat(`("a" | "b"){0,1000} `, 90),
	} {
		if s, err := NewSampler(m, grammarOf(text, "")); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			closing(t, s)
		}
	}
}

// TestNewSampler_BadGrammar_WholeCharacters: a reason that quotes the text is cut between characters.
func TestNewSampler_BadGrammar_WholeCharacters(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for i := range 4 {
		_, err := NewSampler(m, grammarOf("root ::= * "+strings.Repeat("x", i)+strings.Repeat("🐸", 1000), ""))
		if !errors.Is(err, ErrInvalid) || !utf8.ValidString(err.Error()) {
			t.Errorf("%d letters before: %v", i, err)
		}
	}
}

func TestSampler_Sample_FollowsGrammar(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	prompt, err := m.Tokenize(t.Context(), greedyPrompt, TokenizeOptions{ParseSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	for grammar, root := range map[string]string{
		`root ::= "{\"name\": \"" [A-Z] [a-z]{2,5} "\"}"`:  "",
		"# a comment\n start ::= (\"yes\" | \"no\") \".\"": "start",
		`root ::= "Grüße 🐸"`:                               "root",
	} {
		c := newContext(t, m, ContextOptions{Threads: 1, Cells: 512})
		out := generate(t, c, newSampler(t, m, grammarOf(grammar, root)), prompt, 100)
		if !m.EndOfGeneration(out[len(out)-1]) {
			t.Errorf("%s: no end after %d tokens", grammar, len(out))
		}
		text := ""
		for _, token := range out {
			text += m.Piece(token)
		}
		switch {
		case strings.Contains(grammar, "name") && !strings.HasPrefix(text, `{"name": "`):
			t.Errorf("got %q", text)
		case root == "start" && text != "yes." && text != "no.":
			t.Errorf("got %q", text)
		case root == "root" && text != "Grüße 🐸":
			t.Errorf("got %q", text)
		}
	}
}

func TestSampler_Accept_AgainstTheGrammar(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	tokens := func(text string) []int32 {
		t.Helper()
		out, err := m.Tokenize(t.Context(), text, TokenizeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	eos := m.Info().Special.EOS
	s := newSampler(t, m, grammarOf(`root ::= "a" "b"`, ""))
	if err := s.Accept(eos); !errors.Is(err, ErrFailed) {
		t.Errorf("an end too early: got %v, want ErrFailed", err)
	}
	if err := s.Accept(tokens("z")[0]); !errors.Is(err, ErrFailed) {
		t.Errorf("a token that does not fit: got %v, want ErrFailed", err)
	}
	for _, token := range append(tokens("ab"), eos) {
		if err := s.Accept(token); err != nil {
			t.Errorf("accept %q: %v", m.SpecialPiece(token), err)
		}
	}
	if err := s.Rewind(append(tokens("anything at all"), tokens("ab")...), len(tokens("anything at all"))); err != nil {
		t.Errorf("the grammar saw the prompt: %v", err)
	}
	if err := s.Rewind(tokens("zz"), 0); !errors.Is(err, ErrFailed) {
		t.Errorf("a history that does not fit: got %v, want ErrFailed", err)
	}
	if err := s.Rewind(tokens("a"), 0); err != nil {
		t.Errorf("rewind after a fault: %v", err)
	}
}

// The number of readings doubles with every token; it must end in an error before memory runs out.
func TestSampler_Accept_AmbiguousGrammar(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	s := newSampler(t, m, grammarOf(`root ::= "a" root | "a" root "b" | "a" root "c" | "a"`, ""))
	a, err := m.Tokenize(t.Context(), "a", TokenizeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if err := s.Accept(a[len(a)-1]); err != nil {
			if !errors.Is(err, ErrFailed) {
				t.Errorf("token %d: %v", i, err)
			}
			if _, err := s.Sample(row(1)); !errors.Is(err, ErrFailed) {
				t.Errorf("sampling after the fault: got %v, want ErrFailed", err)
			}
			return
		}
	}
	t.Error("40 tokens without an error")
}

func FuzzNewSampler_Grammar(f *testing.F) {
	for _, seed := range []string{
		`root ::= "a"`, "root ::= [a-z]+ ws\nws ::= [ \\t\\n]*", `root ::= ("a" | "b"){2,3} [^c] .`, "root ::= <[5]> !<[6]>",
		`root ::= "\x41\u00e9\U0001F438" # x`, `root::=r|""` + "\nr::=\"x\"?", `root ::= "a"{5,2}`, `root ::= [^]`, `root ::= [a-b-c]`,
	} {
		f.Add(seed)
	}
	m := loadBuiltIn(f, ModelOptions{VocabOnly: true})
	f.Fuzz(func(t *testing.T, grammar string) {
		s, err := NewSampler(m, grammarOf(grammar, ""))
		if err != nil {
			return
		}
		defer closing(t, s)
		for i := range uint64(4) {
			token, err := s.Sample(row(i))
			if err != nil {
				return
			}
			if err := s.Accept(token); err != nil || m.EndOfGeneration(token) {
				return
			}
		}
	})
}

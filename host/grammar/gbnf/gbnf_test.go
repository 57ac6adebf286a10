// SPDX-License-Identifier: MIT

package gbnf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func tokens() Tokens {
	return Tokens{Count: 100, Find: func(text string) (int32, bool) { return 71, text == "<think>" }}
}

func fits(t *testing.T, g *grammar.Grammar, text string) bool {
	t.Helper()
	s, ok := must.Both(g.Advance(g.Start(), []byte(text)))(t)
	return ok && g.Complete(s)
}

// What is written as llama.cpp's parser takes it means what it means there.
func TestParse_Syntax(t *testing.T) {
	for text, want := range map[string]struct{ yes, no []string }{
		`root ::= "a"`:   {[]string{"a"}, []string{"", "aa"}},
		`root::="a"|"b"`: {[]string{"a", "b"}, []string{"ab"}},
		"# first\n\nroot ::= x # then\n  x::= \"y\"\r\n":  {[]string{"y"}, nil},
		"root ::= (\n \"a\" # one\n | \"b\" )\n":          {[]string{"a", "b"}, nil},
		"root ::= \"a\" |\n \"b\"":                        {[]string{"a", "b"}, nil},
		`root ::= [a-c-]`:                                 {[]string{"a", "b", "c", "-"}, []string{"d"}},
		`root ::= [a-b-c]`:                                {[]string{"a", "b", "c", "-"}, []string{"d"}},
		`root ::= [^a-c]`:                                 {[]string{"d", "é", "€"}, []string{"a", "\xc3", "\x00"}},
		`root ::= [c-a]?`:                                 {[]string{""}, []string{"a", "b"}},
		`root ::= [^c-a]`:                                 {[]string{"a", "b"}, []string{""}},
		`root ::= []"a"`:                                  {[]string{"a"}, []string{""}},
		`root ::= .`:                                      {[]string{"a", "\n", "🐸"}, []string{"", "\x00"}},
		`root ::= "\x41\u00e9\U0001F438\t\r\n\\\"\[\]\-"`: {[]string{"Aé🐸\t\r\n\\\"[]-"}, nil},
		`root ::= "\U00110000"?`:                          {[]string{""}, nil},
		`root ::= "ab"{2}`:                                {[]string{"abab"}, []string{"ab", "ababab"}},
		`root ::= "a"{ 2 , }`:                             {[]string{"aa", "aaaa"}, []string{"a"}},
		`root ::= "a"{2,3}`:                               {[]string{"aa", "aaa"}, []string{"a", "aaaa"}},
		`root ::= "a"{0} "b"`:                             {[]string{"b"}, []string{"ab"}},
		`root ::= "a"*?+`:                                 {[]string{"", "aaa"}, []string{"b"}},
		`root ::= ("a"? " "?)+ "b"`:                       {[]string{"b", "a a  ab"}, []string{"a"}},
		`root ::= (("a"? "c"?)+ " "?)+ "b"`:               {[]string{"b", "acca  cab"}, []string{"ac ", "bb"}},
		"root ::= x \"b\"\nx ::= e y | \"a\"\ny ::= e x | e\ne ::= \" \"?": {[]string{"b", "   b", "ab", "  ab"}, []string{"a", "aab", " ba"}},
		`root ::= "a" root "b" | `:                          {[]string{"", "aabb"}, []string{"aab"}},
		"root ::= \"a\"\nroot ::= \"b\"":                    {[]string{"b"}, []string{"a"}},
		"root ::= (x | \"c\" root) \"]\"\nx ::= \"[\" (x)*": {[]string{"[]", "[[[]", "c[]]"}, []string{"c]"}},
		// Unlike llama.cpp's, rules may begin with themselves.
		"root ::= root \"+\" term | term\nterm ::= [0-9]": {[]string{"1", "1+2+3"}, []string{"1+"}},
	} {
		g, err := Parse(grammar.NewBuilder(), text, "", tokens())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, yes := range want.yes {
			if !fits(t, g, yes) {
				t.Errorf("%s: %q does not fit", text, yes)
			}
		}
		for _, no := range want.no {
			if fits(t, g, no) {
				t.Errorf("%s: %q fits", text, no)
			}
		}
	}
}

// What begins with %llguidance is in Lark's notation.
func TestParse_Lark(t *testing.T) {
	g := must.Get(Parse(grammar.NewBuilder(), "%llguidance {}\nstart: \"a\"+ | <[71]> <think>", "", tokens()))(t)
	if !fits(t, g, "aa") || fits(t, g, "") {
		t.Error("it means something else")
	}
	for text, says := range map[string]string{
		"%llguidance {}\nstart: b":       `line 2: "b" is used, but not defined`,
		"%llguidance {}\nstart: <[100]>": "no token 100",
		"%llguidance {}\nstart: <frog>":  "not one token",
		"start: \"a\"":                   "begins with %llguidance {}",
	} {
		if _, err := Parse(grammar.NewBuilder(), text, "", tokens()); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}

func TestParse_Tokens(t *testing.T) {
	pieces := make([][]byte, 100)
	for i := range pieces {
		pieces[i] = []byte{byte('!' + i)}
	}
	pieces[99] = []byte("<think>")
	v := grammar.NewVocabulary(pieces, []int32{98}, []int32{71, 99})
	g := must.Get(Parse(grammar.NewBuilder(), `root ::= <think> ("a"* !<[71]>)* <[71]>`, "", tokens()))(t)
	s := g.Start()
	for i, step := range []struct {
		token int32
		fits  bool
	}{{70, false}, {71, true}, {98, false}, {71, true}, {98, true}, {71, false}} {
		to, ok, err := g.Token(s, v, step.token)
		if err != nil || ok != step.fits {
			t.Fatalf("step %d, token %d: %v, %v", i, step.token, ok, err)
		}
		if ok {
			s = to
		}
	}
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

func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("root ::= \"x\"\n")
	for i := range n {
		b.WriteString(strconv.Itoa(i) + "::=\"\"\n")
	}
	return b.String()
}

// An invalid grammar is refused, which takes no longer than reading a large one.
func TestParse_Invalid(t *testing.T) {
	large := steadytest.Cost(t, func() {
		if _, err := Parse(grammar.NewBuilder(), manyRules(90000), "", tokens()); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct{ text, says string }{
		"nonsense":          {"???", "line 1: the name of a rule is expected, not \"???\""},
		"no root":           {`a ::= "x"`, `it has no rule "root"`},
		"only space":        {" \n\t ", `it has no rule "root"`},
		"only a comment":    {"# nothing", `it has no rule "root"`},
		"no definition":     {"root", "line 1: ::= is expected"},
		"undefined rule":    {"root ::= \"a\"\n | nowhere", ""},
		"undefined rule 2":  {"root ::= \"a\" |\n  nowhere", `line 2: the rule "nowhere" is used, but not defined`},
		"unclosed literal":  {`root ::= "abc`, "line 1: the text ends within"},
		"unclosed class":    {"root ::= [abc", "the text ends within"},
		"half an escape":    {`root ::= "\x4`, "2 hexadecimal digits"},
		"escape at the end": {`root ::= "\`, "the text ends within"},
		"bad escape":        {`root ::= "\q"`, "there is no escape"},
		"unclosed group":    {`root ::= ("a"`, ") is expected, not the end"},
		"stray close":       {`root ::= "a")`, "the end of the rule is expected"},
		"repeat nothing":    {"root ::= *", "nothing to repeat"},
		"repeat empty":      {"root ::= []*", "nothing to repeat"},
		"repeat backwards":  {`root ::= "a"{5,2}`, "at least 5 and at most 2"},
		"repeat absurdly":   {`root ::= "a"{100000000000000000000000}`, "too large"},
		"repeat too often":  {`root ::= "a"{1000000,}`, "more than 2000"},
		"repeat repeats":    {`root ::= ((("a"{1000}){1000}){1000}){1000}`, "within others"},
		"repeat unclosed":   {`root ::= "a"{1`, "} is expected"},
		"mutual recursion":  {"root ::= a\na ::= b\nb ::= a", "no text fits"},
		"exponential":       {chain(60, `"x"?`), "ambiguous"},
		"too deep":          {"root ::= " + strings.Repeat("(", 100000) + `"a"` + strings.Repeat(")", 100000), "200 deep"},
		"too long":          {"root ::= \"" + strings.Repeat("a", 2<<20) + "\"", "1 MiB"},
		"not UTF-8":         {"root ::= \"\xff\"", "UTF-8"},
		"zero byte":         {"root ::= \"a\x00\"", "zero byte"},
		"unknown token":     {"root ::= <nonesuch>", "not one token"},
		"token too large":   {"root ::= <[100]>", "no token 100"},
		"bad token":         {"root ::= <[1x]>", "number is expected"},
		"many rules":        {manyRules(101000), "1 MiB"},
		"many braces":       {"root ::= " + strings.Repeat("{}", 500000), "nothing to repeat"},
		"many commas":       {"root ::= " + strings.Repeat("{,}", 340000), "nothing to repeat"},
		"nothing fits":      {"root ::= \"a\" root", "no text fits"},
	} {
		took := steadytest.Cost(t, func() {
			_, err := Parse(grammar.NewBuilder(), c.text, "", tokens())
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v, want %q", name, err, c.says)
			}
		})
		if took > large {
			t.Errorf("%s: it takes %v, a large grammar %v", name, took, large)
		}
	}
	for i := range 4 {
		if _, err := Parse(grammar.NewBuilder(), "root ::= * "+strings.Repeat("x", i)+strings.Repeat("🐸", 1000), "", tokens()); err == nil || !utf8.ValidString(err.Error()) {
			t.Errorf("%d letters before: %v", i, err)
		}
	}
}

// longChain writes rules that each are the next.
func longChain(n int, last string) string {
	var b strings.Builder
	b.WriteString("root ::= a0\n")
	for i := range n {
		b.WriteString("a" + strconv.Itoa(i) + "::=a" + strconv.Itoa(i+1) + "\n")
	}
	b.WriteString("a" + strconv.Itoa(n) + "::=" + last)
	return b.String()
}

// Large grammars are read within the bounds, or refused; none takes more memory or work than those
// allow.
func TestParse_Large(t *testing.T) {
	for name, c := range map[string]struct{ text, refused string }{
		"many rules":             {manyRules(90000), ""},
		"repetitions":            {"root ::= " + strings.Repeat(`("a" | "b"){0,1000} `, 90), ""},
		"many repetitions":       {"root ::= " + strings.Repeat("[a]{0,2000} ", 80000), ""},
		"repetitions of tokens":  {"root ::= " + strings.Repeat("<[1]>{0,2000} ", 70000), "places"},
		"long chain":             {longChain(60000, `<[1]>`), ""},
		"empty chain":            {longChain(60000, `""`), ""},
		"circle":                 {longChain(60000, `"x" | a0 "y"`), "begin with one another"},
		"many optional":          {"root ::= " + strings.Repeat("[a]? ", 50000), ""},
		"many optional tokens":   {"root ::= " + strings.Repeat("<[1]>? ", 140000), "too ambiguous"},
		"many alternatives":      {"root ::= " + strings.Repeat("[a] | ", 170000) + `"b"`, ""},
		"many tokens":            {"root ::= " + strings.Repeat("<[1]> | ", 100000) + `"b"`, ""},
		"tokens":                 {"root ::= " + strings.Repeat("<[1]> | ", 20000) + `"b"`, ""},
		"many left recursions":   {"root ::= " + strings.Repeat("root [a] | ", 60000) + `"b"`, ""},
		"groups":                 {"root ::= " + strings.Repeat("(", 200) + strings.Repeat(`"a" `, 200000) + strings.Repeat(")*", 200), ""},
		"groups of groups":       {"root ::= " + strings.Repeat("(", 200) + strings.Repeat(`<[1]> `, 100000) + strings.Repeat("){0,2}", 200), "within others"},
		"groups of groups, plus": {"root ::= " + strings.Repeat("(", 200) + strings.Repeat(`<[1]> `, 100000) + strings.Repeat(")+", 200), ""},
		"a long literal":         {`root ::= "` + strings.Repeat("a", 1000000) + `"`, "expressions"},
		"a class of many":        {`root ::= [` + strings.Repeat("ac", 500000) + `]`, ""},
	} {
		_, err := Parse(grammar.NewBuilder(), c.text, "", tokens())
		if c.refused == "" && err != nil || c.refused != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: got %v, want %q", name, err, c.refused)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`root ::= "a"`, "root ::= [a-z]+ ws\nws ::= [ \\t\\n]*", `root ::= ("a" | "b"){2,3} [^c] .`, "root ::= <[5]> !<[6]> <think>",
		`root ::= "\x41\u00e9\U0001F438" # x`, `root::=r|""` + "\nr::=\"x\"?", `root ::= "a"{5,2}`, `root ::= [^]`, `root ::= [a-b-c]`,
		"root ::= root \"a\" | (root | \"b\")* \"c\"",
	} {
		f.Add(seed, "ab")
	}
	f.Fuzz(func(t *testing.T, text, follows string) {
		g, err := Parse(grammar.NewBuilder(), text, "", tokens())
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !utf8.ValidString(err.Error()) {
				t.Errorf("%q", err)
			}
			return
		}
		s, ok, err := g.Advance(g.Start(), []byte(follows))
		if !ok || err != nil {
			return
		}
		if n, err := g.Shortest(s); err == nil && (n == 0) != g.Complete(s) {
			t.Errorf("%d bytes are left, complete: %v", n, g.Complete(s))
		}
	})
}

// A verdict is what llama.cpp's grammars say of a text. testdata has them as lines:
// `accept "text"`, or `reject 12 "text"`, where 12 is how many bytes of the text could be
// followed. The automaton that was here before this package wrote them down; it gave the same as
// llama.cpp's. It refused rules that begin with themselves, and chains of ten thousands of rules;
// those are read here.
type verdict struct {
	text    string
	follows int
	accepts bool
}

func parseVerdict(line string) (v verdict, err error) {
	kind, rest, _ := strings.Cut(line, " ")
	v.accepts = kind == "accept"
	if !v.accepts {
		var n string
		n, rest, _ = strings.Cut(rest, " ")
		if v.follows, err = strconv.Atoi(n); kind != "reject" || err != nil {
			return v, fmt.Errorf("%q is no verdict: %w", line, err)
		}
	}
	if v.text, err = strconv.Unquote(rest); err != nil {
		return v, fmt.Errorf("%q is no verdict: %w", line, err)
	}
	if v.accepts {
		v.follows = len(v.text)
	}
	return v, nil
}

// judge compares the verdicts on a grammar's texts with ours. It returns how many texts were
// accepted and rejected.
func judge(t *testing.T, text string, lines []string) (accepted, rejected int) {
	t.Helper()
	g, err := Parse(grammar.NewBuilder(), text, "", tokens())
	if err != nil {
		t.Fatalf("%s\nis refused: %v", text, err)
	}
	for _, line := range lines {
		want := must.Get(parseVerdict(line))(t)
		got, s := verdict{text: want.text}, g.Start()
		for got.follows < len(want.text) {
			to, fits := must.Both(g.Advance(s, []byte{want.text[got.follows]}))(t)
			if !fits {
				break
			}
			s = to
			got.follows++
		}
		got.accepts = got.follows == len(want.text) && g.Complete(s)
		if got != want {
			t.Errorf("%s\n%q: got %+v, want %+v", text, want.text, got, want)
		}
		if want.accepts {
			accepted++
		} else {
			rejected++
		}
	}
	return accepted, rejected
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// The grammar files of llama-server accept and reject the same texts as there.
func TestParse_ServerGrammars(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "build", "llama.cpp", "source-*", "grammars", "*.gbnf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("llama.cpp's source is not there (%v): run `make llama` first", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gbnf")
		t.Run(name, func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			accepted, rejected := judge(t, string(text), readLines(t, filepath.Join("testdata", "llama-server", name+".txt")))
			if accepted < 20 || rejected < 20 {
				t.Errorf("%d texts to accept, %d to reject: too few", accepted, rejected)
			}
		})
	}
}

// Random grammars accept and reject the same texts as with llama.cpp.
func TestParse_RandomGrammars(t *testing.T) {
	lines := readLines(t, filepath.Join("testdata", "random.txt"))
	for len(lines) > 0 {
		quoted, ok := strings.CutPrefix(lines[0], "grammar ")
		text, err := strconv.Unquote(quoted)
		if !ok || err != nil {
			t.Fatalf("%q is no grammar: %v", lines[0], err)
		}
		n := 1
		for n < len(lines) && !strings.HasPrefix(lines[n], "grammar ") {
			n++
		}
		if accepted, _ := judge(t, text, lines[1:n]); accepted < 3 {
			t.Errorf("%s\n%d texts to accept: too few", text, accepted)
		}
		lines = lines[n:]
	}
}

// SPDX-License-Identifier: MIT

package lark

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func token(text string) (int32, error) {
	if text == "<think>" {
		return 71, nil
	}
	return 0, errors.New("there is no such token")
}

func read(text string) (*grammar.Grammar, error) {
	b := grammar.NewBuilder()
	root, err := Add(b, text, Options{Token: token})
	if err != nil {
		return nil, err
	}
	return b.Build(root)
}

// check tries texts that fit a grammar, and texts that do not.
func check(t *testing.T, text string, yes, no []string) {
	t.Helper()
	g, err := read(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	for i, one := range append(yes, no...) {
		s, ok, err := g.Advance(g.Start(), []byte(one))
		if err != nil {
			t.Errorf("%s: %q: %v", text, one, err)
		} else if fits := ok && g.Complete(s); fits != (i < len(yes)) {
			t.Errorf("%s: %q fits: %v", text, one, fits)
		}
	}
}

func TestAdd_Syntax(t *testing.T) {
	for text, c := range map[string]struct{ yes, no []string }{
		`start: "a"`:                        {[]string{"a"}, []string{"", "aa"}},
		"%llguidance {} start: \"a\"\n":     {[]string{"a"}, []string{"aa"}},
		"%llguidance {}\nstart:\"a\"|\"b\"": {[]string{"a", "b"}, []string{"ab"}},
		"// one\n# two\n?start: x // three\n  | \"b\" \"c\"\r\n!x: \"y\" -> why\n": {[]string{"y", "bc"}, []string{"b", "yb"}},
		"start: x\n?x: y?\n_y: \"y\"\ny: _y":                                       {[]string{"y", ""}, []string{"yy"}},
		"start:\n  | \"a\"\n  | \"b\" -> name\n":                                   {[]string{"", "a", "b"}, []string{"ab"}},
		"start: (\n \"a\" # one\n | \"b\"\n )\n":                                   {[]string{"a", "b"}, nil},
		"start: a-b\na-b: \"x\"":                                                   {[]string{"x"}, nil},
		`start: ["a" | "b"] "c"`:                                                   {[]string{"c", "ac", "bc"}, []string{"abc"}},
		`start: "a"* "b"+ "c"?`:                                                    {[]string{"b", "aabbc"}, []string{"a", "bcc"}},
		`start: "a"~2 "b" ~ 1..2`:                                                  {[]string{"aab", "aabb"}, []string{"ab", "aabbb"}},
		`start: "a"{2} "b"{,1} "c"{1,}`:                                            {[]string{"aac", "aabccc"}, []string{"aa", "aabbc"}},
		`start: "Select"i " " "Ä"i`:                                                {[]string{"sELECT ä", "SELECT Ä"}, []string{"select a"}},
		`start: "a" .. "c" "\x41" "\u00e9\U0001F438\t\r\n\f\"\\"`:                  {[]string{"bAé🐸\t\r\n\f\"\\"}, []string{"dAé🐸\t\r\n\f\"\\"}},
		`start: /[a-c]+\/\u00e9/ /x.y/is /[\s\S]/`:                                 {[]string{"abc/éX\nY\n"}, []string{"abc/éX\nY"}},
		`start: /(.+)\Z/`:                                                          {[]string{"a", "é!"}, []string{"", "a\n"}},
		"start: NAME\nNAME.2: LETTER (LETTER | \"0\"..\"9\")*\nLETTER.-1: /[a-z]/": {[]string{"a", "b2c"}, []string{"2"}},
		"start: start \"+\" term | term\nterm: /[0-9]/":                            {[]string{"1", "1+2+3"}, []string{"1+"}},
		"start: \"(\" start \")\" |":                                               {[]string{"", "(())"}, []string{"(()"}},
		"start: list{x, \",\"}\nlist{item, sep}: item (sep item)*\nx: \"x\"":       {[]string{"x", "x,x"}, []string{"x,", ""}},
		"start: a{\"x\"} a{\"y\"}\na{b}: \"(\" c{b} \")\"\nc{d}: d | a{d}":         {[]string{"(x)(y)", "((x))(y)"}, []string{"(x)(x)"}},
		"start: \"a\" \\\n \"b\"":                                                  {[]string{"ab"}, nil},
		"start: \"a\"\n    \"b\"\nother: \"c\"":                                    {[]string{"ab"}, []string{"a"}},
		"%import common.INT\n%import common.WORD -> NAME\n%import common (LF, CR)\nstart: INT NAME CR LF": {[]string{"12ab\r\n"}, []string{"ab\r\n"}},
		// What is ignored may come after a terminal.
		"start: \"a\" \"b\"? NAME\nNAME: \"c\" \"d\"\n%ignore \" \"\n%ignore /#[^\\n]*\\n/":             {[]string{"acd", "a b  cd ", "a# x\n cd"}, []string{" acd", "ac d"}},
		"%llguidance {\"allow_initial_skip\": true, \"no_forcing\": true}\nstart: \"a\"\n%ignore \" \"": {[]string{"a", "  a "}, []string{" "}},
		// llguidance's additions.
		"start: x \"!\"\nx[lazy]: /.*b/":                                                                     {[]string{"ab!", "b!"}, []string{"abb!", "!"}},
		"start: x x\nx[capture=\"y\", suffix=\"</x>\"]: /(.|\\n)*/":                                          {[]string{"</x></x>", "a<\n</x>b</x>"}, []string{"a</x>", "</x></x></x>"}},
		"start: %json {\"enum\": [1, \"a:b\"]} \",\" x\nx: %json\n{\n\"type\":\n\"boolean\"}\n%ignore \"_\"": {[]string{"1,true", "\"a:b\"_,false_"}, []string{"2,true", "1,_1"}},
		"start: A\nA: /[a-z]*/ & ~/(?s:.*)no(?s:.*)/ | \"no!\"":                                              {[]string{"", "yes", "n", "no!"}, []string{"no", "anot"}},
	} {
		check(t, text, c.yes, c.no)
	}
}

func TestAdd_Tokens(t *testing.T) {
	pieces := make([][]byte, 100)
	for i := range pieces {
		pieces[i] = []byte{byte('!' + i)}
	}
	v := grammar.NewVocabulary(pieces, []int32{98}, []int32{71})
	g := must.Get(read("start: <think> \"a\"* <think>\n%ignore \"b\""))(t)
	s := g.Start()
	for i, step := range []struct {
		token int32
		fits  bool
	}{{65, false}, {71, true}, {65, true}, {64, true}, {98, false}, {65, true}, {71, true}, {98, true}} {
		to, ok, err := g.Token(s, v, step.token)
		if err != nil || ok != step.fits {
			t.Fatalf("step %d, token %d: %v, %v", i, step.token, ok, err)
		}
		if ok {
			s = to
		}
	}
}

// The grammar of Codex's tool apply_patch, as openai/codex publishes it.
const applyPatch = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`

func TestAdd_ApplyPatch(t *testing.T) {
	const begin, end = "*** Begin Patch\n", "*** End Patch"
	check(t, applyPatch, []string{
		begin + "*** Add File: a.txt\n+one\n+\n" + end,
		begin + "*** Delete File: a b.txt\n" + end + "\n",
		begin + "*** Update File: a.go\n*** Move to: b.go\n@@ func main\n-x\n+y\n z\n@@\n+é\n*** End of File\n*** Delete File: c\n" + end,
	}, []string{
		begin + end,
		begin + "*** Add File: a.txt\n" + end,
		begin + "*** Update File: a.go\nfunc\n" + end,
		"*** Begin Patch *** Add File: a.txt\n+one\n" + end,
	})
}

func TestAdd_Languages(t *testing.T) {
	check(t, `
?start: sum
?sum: product | sum "+" product -> add | sum "-" product -> sub
?product: atom | product "*" atom -> mul | product "/" atom -> div
?atom: NUMBER -> number | "-" atom -> neg | NAME -> var | "(" sum ")"
%import common.CNAME -> NAME
%import common.NUMBER
%import common.WS_INLINE
%ignore WS_INLINE
`, []string{"1", "1 + 2*(x-3.5e1)", "- -y / 2"}, []string{"1+", "(1", "1 2", ""})
	check(t, `
?start: value
?value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
array: "[" [value ("," value)*] "]"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
%import common.ESCAPED_STRING
%import common.SIGNED_NUMBER
%import common.WS
%ignore WS
`, []string{`{"a": [1, -2.5e+3, {}],` + "\n" + `"b\"": null}`, `[ ]`}, []string{`{"a" 1}`, `[1,]`, `"a`})
	check(t, `
start: select ";"?
select: "select"i columns "from"i NAME where? order?
columns: "*" | _list{column}
column: NAME ["as"i NAME] | "count"i "(" "*" ")"
where: "where"i condition (("and"i | "or"i) condition)*
condition: NAME ("=" | "<" | ">" | "<=" | "like"i) value
order: "order"i "by"i _list{NAME} ["asc"i | "desc"i]
value: /'[^']*'/ | SIGNED_INT
_list{item}: item ("," item)*
NAME: /[a-z_][a-z0-9_]*/i
%import common.SIGNED_INT
%import common.WS
%ignore WS
`, []string{"SELECT * FROM frogs", "select name as n, count(*) from frogs where age <= -3 and name like 'a%' order by age, name desc;"},
		[]string{"select from frogs", "select a, from b", "select * from a where b = c"})
}

// manyEmpty writes n rules without anything in them.
func manyEmpty(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d:\n", i)
	}
	return b.String()
}

// folding writes n patterns with ranges whose characters have to be folded, each another one.
func folding(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `/[B-\x{%x}B-\x{%x}B-\x{%x}B-\x{%x}]/i `, 0x1e900-i, 0x1e800-i, 0x1e700-i, 0x1e600-i)
	}
	return b.String()
}

// chain writes n terminals, each using the next twice.
func chain(n int, last string) string {
	var b strings.Builder
	b.WriteString("start: T0 T0\n")
	for i := range n {
		b.WriteString("T" + strconv.Itoa(i) + ": T" + strconv.Itoa(i+1) + " T" + strconv.Itoa(i+1) + "\n")
	}
	b.WriteString("T" + strconv.Itoa(n) + ": " + last + "\n")
	return b.String()
}

func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("start: \"x\"\n")
	for i := range n {
		b.WriteString("r" + strconv.Itoa(i) + ":\"\"\n")
	}
	return b.String()
}

// checkRefused checks that a text is, with an error that says something and can be shown.
func checkRefused(t *testing.T, name, text, says string) {
	t.Helper()
	_, err := read(text)
	if err == nil || !strings.Contains(err.Error(), says) || !utf8.ValidString(err.Error()) || len(err.Error()) > 1<<10 {
		t.Errorf("%s: got %.300v, want %q", name, err, says)
	}
}

func manySchemas(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("%json {\"const\":" + strconv.Itoa(i) + "}")
	}
	return b.String()
}

func TestAdd_Invalid(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":            {"", `no rule "start"`},
		"no start":           {`a: "x"`, `no rule "start"`},
		"nonsense":           {"start: \"a\"\n:", "line 2: the end of the rule is expected"},
		"no colon":           {"start", `line 1: : after the name "start" is expected, not the end`},
		"GBNF":               {`start ::= "a"`, "GBNF does not begin with %llguidance"},
		"undefined":          {"start: a\n| \"b\"\n | c\na: \"a\"", `line 3: "c" is used, but not defined`},
		"twice":              {"start: \"a\"\nstart: \"b\"", `line 2: "start" is defined twice`},
		"unclosed text":      {"start: \"abc\n", "no end in its line"},
		"unclosed regex":     {"start: /abc\n/", "no end in its line"},
		"escape":             {`start: "\d"`, `a backslash is \\`},
		"half an escape":     {`start: "\u12"`, "4 hexadecimal digits"},
		"surrogate":          {`start: "\ud800"`, "4 hexadecimal digits"},
		"single quotes":      {"start: 'a'", "write double ones"},
		"range":              {`start: "b".."a"`, "to a later one"},
		"unclosed group":     {`start: ("a"`, ") is expected, not the end"},
		"unclosed brackets":  {`start: ["a")`, "] is expected"},
		"stray close":        {`start: "a")`, "the end of the rule is expected"},
		"two on a line":      {`start: a a: "x"`, "the end of the rule is expected"},
		"repeat nothing":     {"start: *", "nothing to repeat"},
		"repeat twice":       {`start: "a"*+`, "parentheses"},
		"repeat backwards":   {`start: "a"~3..2`, "at least 3 and at most 2"},
		"repeat absurdly":    {`start: "a"~99999999999999999999`, "larger than"},
		"repeat repeats":     {`start: ((("a"~1000)~1000)~1000)~1000`, "within others"},
		"look-around":        {`start: /a(?!b)/`, "line 1: /a(?!b)/ is not supported: invalid or unsupported Perl syntax"},
		"look-behind":        {`start: /(?<!a)b/`, "without look-around"},
		"broken parentheses": {`start: /a)|(b/s`, "unexpected )"},
		"flag":               {`start: /a b/x`, "the flag x"},
		"declare":            {"start: A\n%declare A", "line 2: %declare is not supported; nothing says what"},
		"override":           {"%override start: \"a\"", "define the rule itself"},
		"extend":             {"%extend start: \"a\"", "all its alternatives"},
		"json":               {"%json {}", "belongs into a rule"},
		"no JSON":            {"start: %json {a", "line 1: %json takes a JSON schema"},
		"no schema":          {"start: \"a\"\n | %json {\n \"type\": \"frog\"}", `line 2: %json: #/type: "frog" is no type`},
		"JSON in terminal":   {"start: A\nA: %json {}", `line 2: the terminal "A" uses a rule`},
		"no directive":       {"%frog", "%ignore or %import is expected"},
		"import a file":      {"%import .other.A", "common only"},
		"import python":      {"%import python.NAME", "common only"},
		"import the unknown": {"%import common.FROG", `no terminal "FROG"`},
		"import as a rule":   {"%import common.INT -> int", "upper case"},
		"ignore a rule":      {"start: \"a\"\n%ignore start", "%ignore takes"},
		"options":            {"%llguidance {\"skip_repetition\": \"once\"}\nstart: \"a\"", `unknown field "skip_repetition"`},
		"attribute":          {"start[temperature=\"1\"]: \"a\"", `the attribute "temperature" is not supported`},
		"lazy rule":          {"start[lazy]: a\na: \"b\"", "rules of terminals only"},
		"parametric":         {"start::_: \"a\"", ":: is not supported"},
		"intersection":       {`start: "a" & "b"`, "belongs to terminals"},
		"complement":         {`start: ~"a"`, "belongs to terminals"},
		"another grammar":    {"start: @json", "write their rules here"},
		"token":              {"start: <frog>", "no such token"},
		"token in terminal":  {"start: A\nA: <think>", `line 2: the terminal "A" uses a rule or a token`},
		"rule in terminal":   {"start: A\nA: a\na: \"a\"", `line 2: the terminal "A" uses a rule`},
		"recursive terminal": {"start: A\nA: \"(\" B \")\"\nB: A?", "uses itself"},
		"arguments":          {"start: a{\"x\", \"y\"}\na{b}: b", `"a" takes 1 arguments, not 2`},
		"no arguments":       {"start: a\na{b}: b", `"a" takes 1 arguments, not 0`},
		"terminal template":  {"start: A{\"x\"}\nA{b}: b", "lower case"},
		"endless template":   {"start: a{x}\nx: \"x\"\na{b}: b | a{(b b)}", "different arguments"},
		"mutual recursion":   {"start: a\na: b\nb: a", "no text fits"},
		"endless text":       {`start: "a" start`, "no text fits"},
	} {
		checkRefused(t, name, c.text, c.says)
	}
}

// What is beyond a bound takes no longer than a large grammar.
func TestAdd_Bounds(t *testing.T) {
	large := steadytest.Cost(t, func() {
		if _, err := read(manyRules(60000)); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct{ text, says string }{
		"exponential":      {chain(60, `"x" "y"`), "too many steps"},
		"deep":             {"start: " + strings.Repeat("(", 100000) + `"a"` + strings.Repeat(")", 100000), "200 deep"},
		"deep complement":  {"start: A\nA: " + strings.Repeat("~", 100000) + `"a"`, "200 deep"},
		"deep arguments":   {"start: " + strings.Repeat("a{", 100000), "200 deep"},
		"deep terminals":   {chain(600, `"x"`), "nest more than 500"},
		"repetitions":      {`start: "a"` + strings.Repeat("?", 500000), "parentheses"},
		"many schemas":     {"start: " + manySchemas(20000), "too many steps"},
		"deep JSON":        {"start: %json " + strings.Repeat("[", 100000), "%json"},
		"many patterns":    {"start: " + strings.Repeat("/a/ ", 200000) + "/(/", "missing closing )"},
		"folding":          {"start: " + folding(4000), "too many steps"},
		"parameters":       {"a{" + strings.Repeat("p,", 25000) + "p}: p\nstart: a", "more than 100"},
		"long white space": {manyEmpty(30000) + strings.Repeat(" ", 100000), "no rule"},
		"a long text":      {`start: "` + strings.Repeat("ab", 500000) + `"`, "expressions"},
		"a long name":      {"start: " + strings.Repeat("a", 1000000), "more than 200"},
	} {
		took, within := steadytest.Within(t, 2*large, func() { checkRefused(t, name, c.text, c.says) })
		if !within {
			t.Errorf("%s: it takes %v, a large grammar %v", name, took, large)
		}
	}
}

// Large grammars are read within the bounds.
func TestAdd_Large(t *testing.T) {
	for name, text := range map[string]string{
		"repetitions":       `start: a~5000 "b"~5000..100000` + "\na: \"a\" | \"(\" a \")\"",
		"many repetitions":  "start: " + strings.Repeat(`"a"~0..5000 `, 5000),
		"many optional":     "start: " + strings.Repeat(`["a"] `, 50000),
		"many alternatives": "start: " + strings.Repeat(`/a/|`, 100000) + `"b"`,
		"left recursion":    "start: " + strings.Repeat(`start "a" | `, 10000) + `"b"`,
		"comments":          strings.Repeat("// nothing\n", 90000) + `start: "a"`,
		"lines":             `start: "a"` + strings.Repeat("\n", 1000000) + `"b"`,
		"spaces":            `start: "a"` + strings.Repeat(" ", 1000000) + `"b"`,
		"templates":         "start: " + strings.Repeat("a{b} ", 20000) + "\na{c}: c \"x\"\nb: \"b\" | b",
	} {
		if _, err := read(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var errGone = errors.New("the client has left")

func TestAdd_Stop(t *testing.T) {
	b := grammar.NewBuilder()
	b.Lexemes.Stop = func() error { return errGone }
	if _, err := Add(b, "start: "+strings.Repeat(`"a" `, 10000), Options{Token: token}); !errors.Is(err, errGone) {
		t.Error(err)
	}
}

func FuzzAdd(f *testing.F) {
	for _, seed := range []string{
		applyPatch, "start: a{\"b\"}\na{c}: c~2..3 [c] {1,2}\n%ignore / /", "start: A\nA: /a*/i & ~\"b\" | \"\\u00e9\"..\"z\" // x",
		"%llguidance {\"no_forcing\": true}\nstart[lazy]: /a/ # y\n%import common (WS, INT)\n", "?start: start \"a\" -> x | <think>", "start.2: \"a\"\n| \"b\"\n",
	} {
		f.Add(seed, "ab")
	}
	f.Fuzz(func(t *testing.T, text, follows string) {
		if !utf8.ValidString(text) {
			return
		}
		g, err := read(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) {
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

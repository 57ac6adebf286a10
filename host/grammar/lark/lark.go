// SPDX-License-Identifier: MIT

// Package lark reads grammars in Lark's notation, as llguidance and OpenAI's custom tools take it.
//
// A grammar is read as a context-free one, which has no lexer: a terminal need not be as long as it
// can be, priorities and aliases mean nothing, and a regular expression's `*?` is `*`. What %ignore
// names may come any number of times after each terminal, as in llguidance: so not at the
// beginning, unless the option allow_initial_skip says so.
//
// Of llguidance's additions there are `{m,n}`, tokens, %json, `&` and `~` in terminals, and the
// attributes lazy, suffix and capture, which means nothing.
//
// A rule ends where the next one or a directive begins, at the beginning of a line. So a rule may
// go on in the next line wherever it likes, which Lark allows before | only.
package lark

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

const (
	maxParentheses  = 200
	maxProduct      = 1 << 20 // of repetitions within one another
	maxRules        = 100_000
	maxName         = 200
	maxInstances    = 10_000 // of templates
	maxParameters   = 100    // of a template
	maxNesting      = 500    // of terminals
	maxWord         = 2000   // words of a rule that become one lexeme
	bytesPerStep    = 8      // of reading, as steps of an arena
	stepsPerPattern = 50     // of reading a short regular expression
	stepsPerSchema  = 300
)

// Prefix begins a grammar in Lark's notation where it could be in another.
const Prefix = "%llguidance"

// Is reports whether a text begins with Prefix.
func Is(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), Prefix) }

// Options say how a grammar is read.
type Options struct {
	Token func(text string) (int32, error)                      // the token that a text such as <think> or <[123]> stands for
	Spell func(b *grammar.Builder, is lexeme.Expr) grammar.Body // how a terminal's texts are written in the answer; nil: as they are
}

// Add adds the rules of a text to a Builder. The text is valid UTF-8 of bounded length. It returns
// the rule that an answer fits: `start`.
//
// # Errors
//
//   - With the line: what is wrong there and, where something is not supported, what to do.
//   - What stopped the Builder's Lexemes, wrapped.
func Add(b *grammar.Builder, text string, o Options) (grammar.Rule, error) {
	p := &parser{text: text, lexemes: b.Lexemes, Options: o, names: map[string]int{}, patterns: map[string]lexeme.Expr{}}
	if !b.Lexemes.Spend(len(text) / bytesPerStep) {
		return 0, b.Lexemes.Err()
	}
	if err := p.parse(); err != nil {
		return 0, p.locateError(err)
	}
	start, ok := p.names["start"]
	if !ok {
		return 0, fmt.Errorf("it has no rule %q", "start")
	}
	root, err := newCompiler(b, p).compile(start)
	if err != nil {
		return 0, p.locateError(err)
	}
	return root, b.Lexemes.Err()
}

// locateError adds the line to an error.
func (p *parser) locateError(err error) error {
	return fmt.Errorf("line %d: %w", 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"), err)
}

// Parts of common's numbers.
const (
	decimal  = `([0-9]+\.[0-9]*|\.[0-9]+)`
	exponent = `[eE][+-]?[0-9]+`
	float    = `([0-9]+` + exponent + `|` + decimal + `(` + exponent + `)?)`
	number   = `([0-9]+(\.[0-9]*)?|\.[0-9]+)(` + exponent + `)?`
)

// common are the terminals of Lark's library of that name.
var common = map[string]string{
	"DIGIT": `[0-9]`, "HEXDIGIT": `[0-9A-Fa-f]`, "INT": `[0-9]+`, "SIGNED_INT": `[+-]?[0-9]+`, "DECIMAL": decimal,
	"FLOAT": float, "SIGNED_FLOAT": `[+-]?` + float, "NUMBER": number, "SIGNED_NUMBER": `[+-]?` + number,
	"ESCAPED_STRING": `"([^"\\\n]|\\.)*"`,
	"LCASE_LETTER":   `[a-z]`, "UCASE_LETTER": `[A-Z]`, "LETTER": `[A-Za-z]`, "WORD": `[A-Za-z]+`, "CNAME": `[A-Za-z_][A-Za-z0-9_]*`,
	"WS_INLINE": `[ \t]+`, "WS": `[ \t\f\r\n]+`, "CR": `\r`, "LF": `\n`, "NEWLINE": `(\r?\n)+`,
	"SH_COMMENT": `#[^\n]*`, "CPP_COMMENT": `//[^\n]*`, "SQL_COMMENT": `--[^\n]*`, "C_COMMENT": `/\*([^*]|\*+[^*/])*\*+/`,
}

// refused are unsupported directives, with what to do instead.
var refused = map[string]string{
	"declare":  "nothing says what a declared terminal is; define it, as in NAME: /[a-z]+/",
	"override": "define the rule itself",
	"extend":   "define the rule with all its alternatives",
	"json":     "it belongs into a rule, as in value: %json {}",
	"regex":    "write a regular expression in slashes",
	"lark":     "write its rules here",
}

func (p *parser) directive() error {
	from := p.at
	for p.at++; isWord(p.peek()); p.at++ {
	}
	name := p.text[from+1 : p.at]
	p.space()
	switch name {
	case "ignore":
		p.inTerminal = true
		is, err := p.alternatives()
		if err == nil && is.size == 0 {
			err = errors.New("%ignore takes terminals, texts and regular expressions; write it without rules and tokens")
		}
		p.ignored = append(p.ignored, is)
		return err
	case "import":
		return p.imports()
	case "llguidance":
		return p.options()
	}
	p.at = from
	if why, known := refused[name]; known {
		return fmt.Errorf("%%%s is not supported; %s", name, why)
	}
	return p.wantError("%ignore or %import")
}

// options reads llguidance's options.
func (p *parser) options() error {
	if p.peek() != '{' {
		return nil
	}
	var o struct {
		InitialSkip bool `json:"allow_initial_skip"`
		NoForcing   bool `json:"no_forcing"` // concerns only speed
	}
	d := json.NewDecoder(strings.NewReader(p.text[p.at:]))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("the options after %s are not supported; write {}: %w", Prefix, err)
	}
	p.at += int(d.InputOffset())
	p.initialSkip = p.initialSkip || o.InitialSkip
	return nil
}

// imports reads common.X, common.X -> Y or common (X, Y).
func (p *parser) imports() error {
	from, err := p.name()
	if err != nil || from != "common" {
		return errors.New("%import takes the terminals of common only; write the imported rules here")
	}
	if p.take(".") {
		name, err := p.name()
		if err != nil {
			return err
		}
		as := name
		if p.space(); p.take("->") {
			p.space()
			if as, err = p.name(); err != nil {
				return err
			}
		}
		return p.importTerminal(name, as)
	}
	if p.space(); !p.take("(") {
		return p.wantError("the name of a terminal of common")
	}
	for {
		p.space()
		name, err := p.name()
		if err != nil {
			return err
		}
		if err := p.importTerminal(name, name); err != nil {
			return err
		}
		if p.space(); p.take(")") {
			return nil
		}
		if !p.take(",") {
			return p.wantError(") after the names of an import")
		}
	}
}

// importTerminal defines a terminal of common under a name.
func (p *parser) importTerminal(name, as string) error {
	source, known := common[name]
	if !known {
		return fmt.Errorf("common has no terminal %q; define it here", name)
	}
	is, err := p.pattern(source)
	if err != nil {
		return err
	}
	i, err := p.ruleNumber(as, p.at)
	if err != nil {
		return err
	}
	switch r := &p.rules[i]; {
	case !r.terminal:
		return fmt.Errorf("%q is imported as %q; write that name in upper case, as it is a terminal", name, as)
	case r.is != nil && (r.is.kind != word || r.is.is != is.is):
		return fmt.Errorf("%q is defined twice; give one of the two another name", as)
	default:
		r.is = is
	}
	return nil
}

type rule struct {
	name       string
	terminal   bool
	parameters []string // of a template
	is         *part
	at         int // in the text: where it is defined, else where it is first used
}

type parser struct {
	Options
	text     string
	at       int
	depth    int
	lexemes  *lexeme.Arena
	patterns map[string]lexeme.Expr // by their text

	rules       []rule
	names       map[string]int
	parameters  []string // of the template that is being read
	inTerminal  bool     // or in what is ignored
	ignored     []*part
	initialSkip bool
}

func (p *parser) parse() error {
	for p.space(); p.at < len(p.text); p.space() {
		read := p.rule
		if p.peek() == '%' {
			read = p.directive
		}
		options := strings.HasPrefix(p.text[p.at:], Prefix) // a rule may begin after them in the same line
		if err := read(); err != nil {
			return err
		}
		if p.space(); p.at < len(p.text) && p.peek() != '%' && !options && !p.atDefinition() {
			return p.wantError("the end of the rule")
		}
	}
	for _, r := range p.rules {
		if r.is == nil {
			p.at = r.at
			return fmt.Errorf("%q is used, but not defined", r.name)
		}
	}
	return nil
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) take(text string) bool {
	if strings.HasPrefix(p.text[p.at:], text) {
		p.at += len(text)
		return true
	}
	return false
}

// space skips white space, line ends and comments.
func (p *parser) space() {
	for p.at < len(p.text) {
		switch rest := p.text[p.at:]; {
		case strings.IndexByte(" \t\r\n\f", rest[0]) >= 0:
			p.at++
		case rest[0] == '\\' && strings.HasPrefix(strings.TrimLeft(rest[1:], " "), "\n"):
			p.at++
		case rest[0] == '#' || strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.at += end
		default:
			return
		}
	}
}

// wantError says what was expected in place of what comes next.
func (p *parser) wantError(want string) error {
	if p.at >= len(p.text) {
		return fmt.Errorf("%s is expected, not the end of the text", want)
	}
	here, _, _ := strings.Cut(p.text[p.at:], "\n")
	return fmt.Errorf("%s is expected, not %q", want, excerpt.Of(here, 30))
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// name reads a name. Hyphens within it are llguidance's.
func (p *parser) name() (string, error) {
	from, named := p.at, false
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		hyphen := c == '-' && p.at+1 < len(p.text) && isWord(p.text[p.at+1])
		if !isLetter(c) && c != '_' && !(named && (isDigit(c) || hyphen)) {
			break
		}
		named = named || isLetter(c)
	}
	if !named {
		p.at = from
		return "", p.wantError("a name")
	}
	if p.at-from > maxName {
		return "", fmt.Errorf("a name has more than %d letters", maxName)
	}
	return p.text[from:p.at], nil
}

// ruleNumber returns the number of a rule by its name.
func (p *parser) ruleNumber(name string, at int) (int, error) {
	i, ok := p.names[name]
	if !ok {
		if len(p.rules) >= maxRules {
			return 0, fmt.Errorf("there are more than %d rules", maxRules)
		}
		i = len(p.rules)
		p.names[name] = i
		first := strings.TrimLeft(name, "_")[0]
		p.rules = append(p.rules, rule{name: name, terminal: first >= 'A' && first <= 'Z', at: at})
	}
	return i, nil
}

// maxDefinition bounds the bytes that atDefinition looks at.
const maxDefinition = 1000

var definition = regexp.MustCompile(`^[?!]*_*[A-Za-z][\w-]*(\{[^{}]*\}|\[[^\]]*\])?(\.[+-]?\d+)?[ \t]*:`)

// atDefinition reports whether a definition begins here.
func (p *parser) atDefinition() bool {
	before := strings.TrimRight(p.text[:p.at], " \t\f")
	if before != "" && before[len(before)-1] != '\n' && before[len(before)-1] != '\r' {
		return false
	}
	return definition.MatchString(p.text[p.at:min(len(p.text), p.at+maxDefinition)])
}

func (p *parser) rule() error {
	for p.take("?") || p.take("!") {
	}
	at := p.at
	name, err := p.name()
	if err != nil {
		return err
	}
	i, err := p.define(name, at)
	if err != nil {
		return err
	}
	lazy, suffix, err := p.attributes()
	if err != nil {
		return err
	}
	if p.parameters, err = p.templateParameters(); err != nil {
		return err
	}
	if p.take(".") { // a priority
		if !p.take("-") {
			p.take("+")
		}
		if _, err := p.count(); err != nil {
			return err
		}
	}
	if p.space(); !p.take(":") {
		return p.wantError(fmt.Sprintf(": after the name %q", name))
	}
	if p.peek() == ':' {
		return errors.New(":: is not supported; rules have no values, and a grammar in GBNF does not begin with " + Prefix)
	}
	p.space()
	p.inTerminal = p.rules[i].terminal
	is, err := p.alternatives()
	if err != nil {
		return err
	}
	if suffix != nil {
		is = newPart(sequence, is, suffix)
	}
	if lazy || suffix != nil {
		if is.size == 0 {
			return fmt.Errorf("%q has the attribute lazy or suffix, which belong to rules of terminals only; leave it out", name)
		}
		is = newPart(shortest, is)
		is.size = 1 // it counts as one word, whatever its size
	}
	p.rules[i].is, p.rules[i].parameters, p.parameters = is, p.parameters, nil
	if p.rules[i].terminal && p.rules[i].parameters != nil {
		return fmt.Errorf("the terminal %q is a template, which only rules can be; write its name in lower case", name)
	}
	return nil
}

// define returns the number of a rule that is being defined.
func (p *parser) define(name string, at int) (int, error) {
	i, err := p.ruleNumber(name, at)
	if err == nil && p.rules[i].is != nil {
		err = fmt.Errorf("%q is defined twice; give one of the two another name", name)
	}
	if err == nil {
		p.rules[i].at = at
	}
	return i, err
}

// attributes reads llguidance's attributes of a rule: lazy, suffix="..." and capture, which means
// nothing.
func (p *parser) attributes() (lazy bool, suffix *part, err error) {
	if !p.take("[") {
		return false, nil, nil
	}
	for {
		p.space()
		name, err := p.name()
		if err != nil {
			return false, nil, err
		}
		var value *part
		if p.space(); p.take("=") {
			p.space()
			if value, err = p.atom(); err != nil {
				return false, nil, err
			}
		}
		switch {
		case name == "capture":
		case name == "lazy" && value == nil:
			lazy = true
		case name == "suffix" && value != nil && value.size > 0:
			suffix = value
		default:
			return false, nil, fmt.Errorf("the attribute %q is not supported; leave it out, or write lazy or suffix=\"...\"", name)
		}
		if p.space(); p.take("]") {
			return lazy, suffix, nil
		}
		if !p.take(",") {
			return false, nil, p.wantError("] after the attributes of a rule")
		}
	}
}

func (p *parser) templateParameters() ([]string, error) {
	if !p.take("{") {
		return nil, nil
	}
	var all []string
	for {
		p.space()
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if all = append(all, name); len(all) > maxParameters {
			return nil, fmt.Errorf("a template has more than %d parameters", maxParameters)
		}
		if p.space(); p.take("}") {
			return all, nil
		}
		if !p.take(",") {
			return nil, p.wantError("} after the parameters of a template")
		}
	}
}

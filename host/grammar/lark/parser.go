// SPDX-License-Identifier: MIT

package lark

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

type rule struct {
	name       string
	terminal   bool
	parameters []string // of a template
	is         *part
	at         int // in the text, where it is defined, or else used first
}

type parser struct {
	Options
	text     string
	at       int
	depth    int
	lexemes  *lexeme.Arena
	patterns map[string]lexeme.Expr // that were read

	rules       []rule
	names       map[string]int
	parameters  []string // of the template that is read
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
		options := strings.HasPrefix(p.text[p.at:], Prefix) // after which a rule may begin in the same line
		if err := read(); err != nil {
			return err
		}
		if p.space(); p.at < len(p.text) && p.peek() != '%' && !options && !p.defines() {
			return p.unexpected("the end of the rule")
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

// peek is the byte that is to be read, 0 at the end.
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

// unexpected says what is to be read instead of something.
func (p *parser) unexpected(want string) error {
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
		return "", p.unexpected("a name")
	}
	if p.at-from > maxName {
		return "", fmt.Errorf("a name has more than %d letters", maxName)
	}
	return p.text[from:p.at], nil
}

// find is the number of the rule of a name.
func (p *parser) find(name string, at int) (int, error) {
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

// maxDefinition bounds what is looked at to tell whether a definition begins.
const maxDefinition = 1000

var definition = regexp.MustCompile(`^[?!]*_*[A-Za-z][\w-]*(\{[^{}]*\}|\[[^\]]*\])?(\.[+-]?\d+)?[ \t]*:`)

// defines reports whether a definition begins here.
func (p *parser) defines() bool {
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
		return p.unexpected(fmt.Sprintf(": after the name %q", name))
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
		is.size = 1 // it is one word, of any size
	}
	p.rules[i].is, p.rules[i].parameters, p.parameters = is, p.parameters, nil
	if p.rules[i].terminal && p.rules[i].parameters != nil {
		return fmt.Errorf("the terminal %q is a template, which only rules can be; write its name in lower case", name)
	}
	return nil
}

// define is the number of a rule that gets its definition here.
func (p *parser) define(name string, at int) (int, error) {
	i, err := p.find(name, at)
	if err == nil && p.rules[i].is != nil {
		err = fmt.Errorf("%q is defined twice; give one of the two another name", name)
	}
	if err == nil {
		p.rules[i].at = at
	}
	return i, err
}

// attributes reads llguidance's of a rule: lazy, suffix="..." and capture, which means nothing.
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
			return false, nil, p.unexpected("] after the attributes of a rule")
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
			return nil, p.unexpected("} after the parameters of a template")
		}
	}
}

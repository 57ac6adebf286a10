// SPDX-License-Identifier: MIT

package lark

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// What common's numbers consist of.
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

// refused are directives, and what to do instead.
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
	return p.unexpected("%ignore or %import")
}

// options reads llguidance's, where they stand.
func (p *parser) options() error {
	if p.peek() != '{' {
		return nil
	}
	var o struct {
		InitialSkip bool `json:"allow_initial_skip"`
		NoForcing   bool `json:"no_forcing"` // is about how fast tokens are found
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
		return p.imported(name, as)
	}
	if p.space(); !p.take("(") {
		return p.unexpected("the name of a terminal of common")
	}
	for {
		p.space()
		name, err := p.name()
		if err != nil {
			return err
		}
		if err := p.imported(name, name); err != nil {
			return err
		}
		if p.space(); p.take(")") {
			return nil
		}
		if !p.take(",") {
			return p.unexpected(") after the names of an import")
		}
	}
}

// imported defines a terminal of common under a name.
func (p *parser) imported(name, as string) error {
	source, known := common[name]
	if !known {
		return fmt.Errorf("common has no terminal %q; define it here", name)
	}
	is, err := p.pattern(source)
	if err != nil {
		return err
	}
	i, err := p.find(as, p.at)
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

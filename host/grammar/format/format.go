// SPDX-License-Identifier: MIT

// Package format has the formats that JSON Schema defines (2020-12, validation, section 7.3) as expressions over the characters
// of a string.
//
// Whatever an expression takes has the format. Some formats have texts that no expression of bearable size tells from others;
// there the expression takes less:
//   - time, date-time: a leap second needs an offset of quarter hours.
//   - idn-hostname, idn-email: names of one script direction in normal form, up to 11 characters a label outside ASCII.
//   - hostname: no A-labels (xn--…).
//   - email, idn-email: of addresses in brackets, those of IPv4 and IPv6.
//   - regex: groups up to four deep, no references to groups.
//   - uri-template: no operators that RFC 6570 reserves.
package format

import "github.com/penstock/penstock/host/grammar/lexeme"

// format is how one is made, of some rules.
type format struct {
	rules []string
	make  func(g *abnf) lexeme.Expr // nil: the rule that has its name
}

var formats = map[string]format{
	"date-time":             {[]string{timeRules}, dateTime},
	"date":                  {[]string{timeRules}, nil},
	"time":                  {[]string{timeRules}, timeOfDay},
	"duration":              {[]string{timeRules}, nil},
	"email":                 {[]string{nameRules}, email},
	"idn-email":             {[]string{nameRules}, idnEmail},
	"hostname":              {[]string{nameRules}, hostname},
	"idn-hostname":          {[]string{nameRules}, idnHostname},
	"ipv4":                  {[]string{nameRules}, nil},
	"ipv6":                  {[]string{nameRules}, nil},
	"uuid":                  {[]string{nameRules}, nil},
	"uri":                   {[]string{nameRules, uriRules, asciiRules}, nil},
	"uri-reference":         {[]string{nameRules, uriRules, asciiRules}, nil},
	"iri":                   {[]string{nameRules, iriRules}, nil},
	"iri-reference":         {[]string{nameRules, iriRules}, nil},
	"uri-template":          {[]string{templateRules, wideRules}, nil},
	"json-pointer":          {[]string{pointerRules}, nil},
	"relative-json-pointer": {[]string{pointerRules}, nil},
	"regex":                 {[]string{regexRules}, regex},
}

// Expr is the texts of a format; ok is false for one that the standard does not have.
func Expr(a *lexeme.Arena, name string) (x lexeme.Expr, ok bool) {
	f, ok := formats[name]
	if !ok {
		return lexeme.Nothing, false
	}
	g := newABNF(a, f.rules...)
	if f.make == nil {
		return g.rule(name), true
	}
	return f.make(g), true
}

// narrower are the formats of which some texts are left out.
var narrower = map[string]bool{
	"time": true, "date-time": true, "hostname": true, "email": true, "idn-email": true, "idn-hostname": true, "regex": true, "uri-template": true,
}

// Exact reports whether Expr has all texts of a format, so that a text outside does not have the format.
func Exact(name string) bool {
	_, ok := formats[name]
	return ok && !narrower[name]
}

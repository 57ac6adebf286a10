// SPDX-License-Identifier: MIT

// Package format has the formats that JSON Schema defines (2020-12, validation, section 7.3) as
// expressions over the characters of a string.
//
// Whatever an expression takes has the format. Some formats have texts that no expression of
// bearable size tells from others; there the expression takes less:
//   - time, date-time: a leap second needs an offset of quarter hours.
//   - idn-hostname, idn-email: names of one script direction in normal form, up to 11 characters a
//     label outside ASCII.
//   - hostname: no A-labels (xn--…).
//   - email, idn-email: of addresses in brackets, those of IPv4 and IPv6.
//   - regex: groups up to four deep, no references to groups.
//   - uri-template: no operators that RFC 6570 reserves.
package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"golang.org/x/text/unicode/norm"
)

// format says how a format's expression is made, from some rules.
type format struct {
	rules []string
	make  func(g *abnf) lexeme.Expr // nil: it is the rule of its name
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

// Expr is the texts of a format; ok is false for one that the standard does not define.
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

// inexact are the formats whose expressions leave out some texts.
var inexact = map[string]bool{
	"time": true, "date-time": true, "hostname": true, "email": true, "idn-email": true, "idn-hostname": true, "regex": true, "uri-template": true,
}

// Exact reports whether Expr has all texts of a format, so that no other text has the format.
func Exact(name string) bool {
	_, ok := formats[name]
	return ok && !inexact[name]
}

// timeRules are RFC 3339's, with its section 5.7 (days of a month, leap years) written out.
const timeRules = `
DIGIT          = %x30-39
date           = year "-" day-of-year / leap-year "-02-29"
year           = 4DIGIT
leap-year      = 2DIGIT fourth / fourths "00"
fourth         = "0" ("4" / "8") / odd ("2" / "6") / even ("0" / "4" / "8")
fourths        = "00" / fourth
odd            = "1" / "3" / "5" / "7" / "9"
even           = "2" / "4" / "6" / "8"
day-of-year    = ("01" / "03" / "05" / "07" / "08" / "10" / "12") "-" (day30 / "31")
               / ("04" / "06" / "09" / "11") "-" day30
               / "02-" day28
day28          = "0" %x31-39 / "1" DIGIT / "2" %x30-38
day30          = day28 / "29" / "30"
hour           = ("0" / "1") DIGIT / "2" %x30-33
minute         = %x30-35 DIGIT
fraction       = "." 1*DIGIT
plain-time     = hour ":" minute ":" minute [fraction] offset
offset         = "Z" / ("+" / "-") hour ":" minute
duration       = %s"P" (days [clock] / clock / 1*DIGIT %s"W")
days           = 1*DIGIT (%s"D" / %s"M" [1*DIGIT %s"D"] / %s"Y" [1*DIGIT %s"M" [1*DIGIT %s"D"]])
clock          = %s"T" 1*DIGIT (%s"S" / %s"M" [seconds] / %s"H" [1*DIGIT %s"M" [seconds]])
seconds        = 1*DIGIT %s"S"
`

// timeOfDay is a full-time. Second 60 is the last of a day of UTC; of the offsets that can have
// one, it takes those of quarter hours, which all time zones have.
func timeOfDay(g *abnf) lexeme.Expr {
	a := g.a
	second := a.Then(a.Text(":60"), a.Or(lexeme.Empty, g.rule("fraction")))
	leaps := []lexeme.Expr{a.Then(a.Text("23:59"), second, g.anyCase("z"))}
	const day = 24 * 60
	for offset := 0; offset < day; offset += 15 {
		for sign, text := range map[int]string{1: "+", -1: "-"} {
			local := (day - 1 + sign*offset + day) % day
			clock := fmt.Sprintf("%02d:%02d", local/60, local%60)
			leaps = append(leaps, a.Then(a.Text(clock), second, a.Text(fmt.Sprintf("%s%02d:%02d", text, offset/60, offset%60))))
		}
	}
	return a.Or(append(leaps, g.rule("plain-time"))...)
}

func dateTime(g *abnf) lexeme.Expr {
	return g.a.Then(g.rule("date"), g.anyCase("t"), timeOfDay(g))
}

// nameRules are host names (RFC 1123, section 2.1), addresses (RFC 3986, section 3.2.2) and
// mailboxes (RFC 5321, section 4.1.2).
const nameRules = `
DIGIT          = %x30-39
HEXDIG         = DIGIT / %x41-46 / %x61-66
let-dig        = DIGIT / %x41-5A / %x61-7A
label          = let-dig [*61(let-dig / "-") let-dig]
hosts          = label *("." label)
ipv4           = octet 3("." octet)
octet          = DIGIT / %x31-39 DIGIT / "1" 2DIGIT / "2" %x30-34 DIGIT / "25" %x30-35
ipv6           = 6(h16 ":") ls32
               / "::" 5(h16 ":") ls32
               / [h16] "::" 4(h16 ":") ls32
               / [*1(h16 ":") h16] "::" 3(h16 ":") ls32
               / [*2(h16 ":") h16] "::" 2(h16 ":") ls32
               / [*3(h16 ":") h16] "::" h16 ":" ls32
               / [*4(h16 ":") h16] "::" ls32
               / [*5(h16 ":") h16] "::" h16
               / [*6(h16 ":") h16] "::"
h16            = 1*4HEXDIG
ls32           = h16 ":" h16 / ipv4
uuid           = 8HEXDIG 3("-" 4HEXDIG) "-" 12HEXDIG
literal        = "[" (ipv4 / %s"IPv6:" ipv6) "]"
local          = atom *("." atom) / %x22 *(%x20-21 / %x23-5B / %x5D-7E) %x22
atom           = 1*atext
atext          = let-dig / "!" / "#" / "$" / "%" / "&" / "'" / "*" / "+" / "-" / "/" / "=" / "?" / "^" / "_" / %x60 / "{" / "|" / "}" / "~"
idn-local      = idn-atom *("." idn-atom) / %x22 *(%x20-21 / %x23-5B / %x5D-7E / non-ascii) %x22
idn-atom       = 1*(atext / non-ascii)
non-ascii      = %x80-10FFFF
`

// The lengths that the standards allow, in characters; those of ASCII are bytes.
const (
	hostLength    = 253
	localLength   = 64
	addressLength = 254
)

func limitLength(a *lexeme.Arena, x lexeme.Expr, length int) lexeme.Expr {
	return a.And(x, a.Repeat(lexeme.Char, 0, length))
}

// hostname is names without A-labels: no expression of bearable size tells which of these encode a
// name that IDNA allows.
func hostname(g *abnf) lexeme.Expr {
	one := plainLabel(g)
	return limitLength(g.a, g.a.Then(one, g.a.Repeat(g.a.Then(g.a.Text("."), one), 0, lexeme.Unbounded)), hostLength)
}

// plainLabel is a label of ASCII that is not an A-label.
func plainLabel(g *abnf) lexeme.Expr {
	return g.a.And(g.rule("label"), g.a.Not(g.a.Then(g.anyCase("xn--"), lexeme.All)))
}

func email(g *abnf) lexeme.Expr {
	whole := g.a.Then(limitLength(g.a, g.rule("local"), localLength), g.a.Text("@"), g.a.Or(g.rule("hosts"), g.rule("literal")))
	return limitLength(g.a, whole, addressLength)
}

// idnEmail is RFC 6531's mailbox. The standard counts its local part in bytes; a character here
// counts as four.
func idnEmail(g *abnf) lexeme.Expr {
	local := g.a.Or(limitLength(g.a, g.rule("local"), localLength), limitLength(g.a, g.rule("idn-local"), localLength/4))
	return g.a.Then(local, g.a.Text("@"), g.a.Or(idnHostname(g), g.rule("literal")))
}

// uriRules are RFC 3986's, appendix A. A host's IPv4address is a reg-name too.
const uriRules = `
DIGIT          = %x30-39
ALPHA          = %x41-5A / %x61-7A
HEXDIG         = DIGIT / %x41-46 / %x61-66
uri            = scheme ":" hier-part ["?" query] ["#" fragment]
uri-reference  = uri / relative-part ["?" query] ["#" fragment]
scheme         = ALPHA *(ALPHA / DIGIT / "+" / "-" / ".")
hier-part      = "//" authority path-abempty / path-absolute / path-rootless / ""
relative-part  = "//" authority path-abempty / path-absolute / path-noscheme / ""
authority      = [userinfo "@"] host [":" *DIGIT]
userinfo       = *(unreserved / pct-encoded / sub-delims / ":")
host           = "[" (ipv6 / "v" 1*HEXDIG "." 1*(unreserved / sub-delims / ":")) "]" / *(unreserved / pct-encoded / sub-delims)
path-abempty   = *("/" *pchar)
path-absolute  = "/" [1*pchar path-abempty]
path-rootless  = 1*pchar path-abempty
path-noscheme  = 1*(unreserved / pct-encoded / sub-delims / "@") path-abempty
pchar          = unreserved / pct-encoded / sub-delims / ":" / "@"
query          = *(pchar / iprivate / "/" / "?")
fragment       = *(pchar / "/" / "?")
pct-encoded    = "%" 2HEXDIG
sub-delims     = "!" / "$" / "&" / "'" / "(" / ")" / "*" / "+" / "," / ";" / "="
`

// iriRules defines what RFC 3987 changes.
const iriRules = uriRules + wideRules + `
iri            = uri
iri-reference  = uri-reference
`

// asciiRules and wideRules are where URIs and IRIs (RFC 3987, section 2.2) differ.
const (
	asciiRules = `
unreserved     = ALPHA / DIGIT / "-" / "." / "_" / "~"
iprivate       = unreserved
`
	wideRules = `
unreserved     = ALPHA / DIGIT / "-" / "." / "_" / "~" / ucschar
ucschar        = %xA0-D7FF / %xF900-FDCF / %xFDF0-FFEF / %x10000-1FFFD / %x20000-2FFFD / %x30000-3FFFD
               / %x40000-4FFFD / %x50000-5FFFD / %x60000-6FFFD / %x70000-7FFFD / %x80000-8FFFD / %x90000-9FFFD
               / %xA0000-AFFFD / %xB0000-BFFFD / %xC0000-CFFFD / %xD0000-DFFFD / %xE1000-EFFFD
iprivate       = %xE000-F8FF / %xF0000-FFFFD / %x100000-10FFFD
`
)

// templateRules are RFC 6570's, section 2, without the operators that it reserves; an erratum adds
// the apostrophe.
const templateRules = `
ALPHA          = %x41-5A / %x61-7A
DIGIT          = %x30-39
HEXDIG         = DIGIT / %x41-46 / %x61-66
uri-template   = *(literals / "{" [operator] varspec *("," varspec) "}")
literals       = %x21 / %x23-24 / %x26-3B / %x3D / %x3F-5B / %x5D / %x5F / %x61-7A / %x7E / "%" 2HEXDIG / ucschar / iprivate
operator       = "+" / "#" / "." / "/" / ";" / "?" / "&"
varspec        = varchar *(["."] varchar) [":" %x31-39 *3DIGIT / "*"]
varchar        = ALPHA / DIGIT / "_" / "%" 2HEXDIG
`

// pointerRules are RFC 6901's, section 3, and those of relative JSON pointers.
const pointerRules = `
json-pointer   = *("/" *(%x00-2E / %x30-7D / %x7F-10FFFF / "~0" / "~1"))
relative-json-pointer = ("0" / %x31-39 *%x30-39) ("#" / json-pointer)
`

// regexRules are ECMA-262's, section 22.2.1, with its flag u. What nests is in regex.
const regexRules = `
DIGIT          = %x30-39
HEXDIG         = DIGIT / %x41-46 / %x61-66
character      = %x20-23 / %x25-27 / %x2C-2D / %x2F-3E / %x40-5A / %x5F-7A / %x7E / %xA0-D7FF / %xE000-10FFFF
escape         = %x5C (class / %s"f" / %s"n" / %s"r" / %s"t" / %s"v" / %s"x" 2HEXDIG / %s"u" unit / syntax / %s"c" letter)
class          = %s"d" / %s"D" / %s"w" / %s"W" / %s"s" / %s"S"
unit           = HEXDIG HEXDIG HEXDIG HEXDIG
letter         = %x41-5A / %x61-7A
syntax         = "^" / "$" / %x5C / "." / "*" / "+" / "?" / "(" / ")" / "[" / "]" / "{" / "}" / "|" / "/"
assertion      = "^" / "$" / %x5C (%s"b" / %s"B")
in-class       = %x20-2C / %x2E-5A / %x5F-7E / %xA0-D7FF / %xE000-10FFFF / escape
classes        = "[" ["^"] ["-"] *(in-class / spans) ["-"] "]"
quantifier     = ("*" / "+" / "?" / "{" counts "}") ["?"]
group          = "(" ["?" (":" / "=" / "!" / "<=" / "<!")]
`

// regexDepth is the greatest depth of nested groups.
const regexDepth = 4

// regex is alternatives of terms. Assertions in groups (look-around) cannot be repeated, as with
// the flag u.
func regex(g *abnf) lexeme.Expr {
	a := g.a
	g.rules["spans"] = classSpans()
	g.rules["counts"] = quantifierCounts()
	quantified := a.Or(lexeme.Empty, g.rule("quantifier"))
	leaf := a.Or(g.rule("character"), a.Text("."), g.rule("escape"), g.rule("classes"))
	x := lexeme.Empty
	for depth := range regexDepth + 1 {
		term := a.Or(a.Then(leaf, quantified), g.rule("assertion"))
		if depth > 0 {
			inner := a.Then(x, a.Text(")"))
			look := a.Or(a.Text("?="), a.Text("?!"), a.Text("?<="), a.Text("?<!"))
			term = a.Or(term,
				a.Then(a.Text("("), a.Or(lexeme.Empty, a.Text("?:")), inner, quantified),
				a.Then(a.Text("("), look, inner))
		}
		terms := a.Repeat(term, 0, lexeme.Unbounded)
		x = a.Then(terms, a.Repeat(a.Then(a.Text("|"), terms), 0, lexeme.Unbounded))
	}
	return x
}

// classSpans is the ranges of a class from a digit or a letter to a later one of its kind.
func classSpans() string {
	var parts []string
	for _, kind := range []string{"09", "az", "AZ"} {
		for low := kind[0]; low <= kind[1]; low++ {
			parts = append(parts, fmt.Sprintf(`%%x%02X "-" %%x%02X-%02X`, low, low, kind[1]))
		}
	}
	return strings.Join(parts, " / ")
}

// quantifierCounts is what a quantifier's braces hold: numbers up to 9,999, the second not below
// the first. Two numbers of equally many digits, at least two, are taken only if their first digits
// differ.
func quantifierCounts() string {
	number := "(DIGIT / %x31-39 1*3DIGIT)"
	parts := []string{number + ` [","]`, `DIGIT "," %x31-39 1*3DIGIT`, `%x31-39 DIGIT "," %x31-39 2*3DIGIT`, `%x31-39 2DIGIT "," %x31-39 3DIGIT`}
	for low := '0'; low <= '9'; low++ {
		parts = append(parts, fmt.Sprintf(`%%x%02X "," %%x%02X-39`, low, low))
		if low > '0' && low < '9' {
			for extra := 1; extra <= 3; extra++ {
				parts = append(parts, fmt.Sprintf(`%%x%02X %dDIGIT "," %%x%02X-39 %dDIGIT`, low, extra, low+1, extra))
			}
		}
	}
	return strings.Join(parts, " / ")
}

// labelLength bounds the characters of a label outside ASCII. Its encoded form may have 63: "xn--"
// takes four, and a character of the basic plane at most five.
const labelLength = 11

// letters are the characters of a label outside ASCII (RFC 5892): those of scripts written from
// left to right and from right to left, and the marks, which cannot begin a label.
type letters struct{ right, left, marks []lexeme.Range }

// excluded are characters of the categories below that RFC 5892 disallows, or allows only in some
// contexts: tatweels, tone marks, Arabic digits, conjoining Jamo, ignored characters, and Cherokee,
// whose small letters fold to the capitals.
var excluded = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0300, Hi: 0x036F, Stride: 1},
	{Lo: 0x0640, Hi: 0x0640, Stride: 1},
	{Lo: 0x0660, Hi: 0x0669, Stride: 1},
	{Lo: 0x06F0, Hi: 0x06F9, Stride: 1},
	{Lo: 0x07FA, Hi: 0x07FA, Stride: 1},
	{Lo: 0x1100, Hi: 0x11FF, Stride: 1},
	{Lo: 0x13F8, Hi: 0x13FD, Stride: 1},
	{Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
	{Lo: 0x180B, Hi: 0x180F, Stride: 1},
	{Lo: 0x302A, Hi: 0x303B, Stride: 1},
	{Lo: 0xA960, Hi: 0xA97F, Stride: 1},
	{Lo: 0xAB70, Hi: 0xABBF, Stride: 1},
	{Lo: 0xD7B0, Hi: 0xD7FF, Stride: 1},
	{Lo: 0xFB00, Hi: 0xFFFF, Stride: 1},
}}

// fromRight are the blocks of the scripts that run from right to left.
var fromRight = lexeme.Range{Low: 0x0590, High: 0x08FF}

// label has the characters of labels, which take a while to find.
var label = sync.OnceValue(func() letters {
	var found letters
	add := func(ranges *[]lexeme.Range, r rune) {
		if last := len(*ranges) - 1; last >= 0 && (*ranges)[last].High == r-1 {
			(*ranges)[last].High = r
			return
		}
		*ranges = append(*ranges, lexeme.Range{Low: r, High: r})
	}
	for r := rune(0x80); r <= 0xFFFF; r++ {
		mark := unicode.In(r, unicode.Mn, unicode.Mc)
		if !mark && !unicode.In(r, unicode.Ll, unicode.Lo, unicode.Lm, unicode.Nd, signs) || unicode.Is(excluded, r) {
			continue
		}
		text := string(r)
		p := norm.NFC.PropertiesString(text)
		switch {
		case !norm.NFKC.IsNormalString(text), !p.BoundaryBefore() && p.CCC() != virama:
		case mark:
			add(&found.marks, r)
		case r >= fromRight.Low && r <= fromRight.High:
			add(&found.left, r)
		default:
			add(&found.right, r)
		}
	}
	return found
})

// virama is the combining class of the only marks that may follow others here: marks of other
// classes have an order in normal form, which labels must have.
const virama = 9

// signs are letters of labels (RFC 5892, section 2.6) that are in none of the categories.
var signs = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x06FD, Hi: 0x06FE, Stride: 1}, {Lo: 0x0F0B, Hi: 0x0F0B, Stride: 1}, {Lo: 0x3007, Hi: 0x3007, Stride: 1}}}

// idnHostname is labels of one direction (RFC 5893): beside one that runs from right to left,
// labels of ASCII begin with a letter.
func idnHostname(g *abnf) lexeme.Expr {
	a, l := g.a, label()
	digit, hyphen := lexeme.Range{Low: '0', High: '9'}, lexeme.Range{Low: '-', High: '-'}
	ascii := []lexeme.Range{digit, {Low: 'a', High: 'z'}}
	wide := func(first []lexeme.Range, others ...lexeme.Range) lexeme.Expr {
		end := slices.Concat(first, others, l.marks)
		inner := append([]lexeme.Range{hyphen}, end...)
		x := a.Then(a.Class(first...), a.Or(lexeme.Empty, a.Then(a.Repeat(a.Class(inner...), 0, labelLength-2), a.Class(end...))))
		return a.And(x, a.Not(a.Then(lexeme.Char, lexeme.Char, a.Text("--"), lexeme.All)))
	}
	labels := func(one lexeme.Expr) lexeme.Expr {
		return a.Then(one, a.Repeat(a.Then(a.Class(dots...), one), 0, lexeme.Unbounded))
	}
	plain := plainLabel(g)
	late := a.And(plain, a.Not(a.Then(a.Class(digit), lexeme.All)))
	hosts := a.Or(labels(a.Or(plain, wide(append(ascii, l.right...)))), labels(a.Or(late, wide(l.left, digit))))
	return limitLength(a, hosts, hostLength/4)
}

// dots separate labels.
var dots = []lexeme.Range{{Low: '.', High: '.'}, {Low: 0x3002, High: 0x3002}, {Low: 0xFF0E, High: 0xFF0E}, {Low: 0xFF61, High: 0xFF61}}

// abnf makes expressions of rules in ABNF (RFC 5234), the notation of the formats' standards. A
// rule must not refer to itself. Quoted texts match either case, after %s only their own (RFC
// 7405).
type abnf struct {
	a     *lexeme.Arena
	rules map[string]string
	made  map[string]lexeme.Expr
	rest  string
	fault string // the first rule that could not be read, for tests
}

// newABNF reads the rules of some texts. A rule begins at the beginning of a line, and goes on in
// lines that begin with a blank.
func newABNF(a *lexeme.Arena, texts ...string) *abnf {
	g := &abnf{a: a, rules: map[string]string{}, made: map[string]lexeme.Expr{}}
	for _, text := range texts {
		name := ""
		for line := range strings.Lines(text) {
			head, body, found := strings.Cut(line, "=")
			switch {
			case line[0] == ' ' || line[0] == '\t':
				g.rules[name] += line
			case found:
				name = strings.TrimSpace(head)
				g.rules[name] = body
			}
		}
	}
	return g
}

// rule returns the texts of a rule.
func (g *abnf) rule(name string) lexeme.Expr {
	if x, ok := g.made[name]; ok {
		return x
	}
	body, ok := g.rules[name]
	if !ok {
		return g.fail(name)
	}
	delete(g.rules, name) // a rule that refers to itself finds none
	outer := g.rest
	g.rest = body
	x := g.alternatives()
	if g.rest != "" {
		g.fail(name + ": " + g.rest)
	}
	if g.fault != "" {
		x = lexeme.Nothing
	}
	g.rest, g.made[name] = outer, x
	return x
}

func (g *abnf) fail(what string) lexeme.Expr {
	if g.fault == "" {
		g.fault = what
	}
	g.rest = ""
	return lexeme.Nothing
}

// next reports whether a text comes next, after blanks and in any case, and reads it.
func (g *abnf) next(text string) bool {
	g.rest = strings.TrimLeft(g.rest, " \t\n")
	rest, ok := strings.CutPrefix(g.rest, text)
	if ok {
		g.rest = rest
	}
	return ok
}

func (g *abnf) alternatives() lexeme.Expr {
	parts := []lexeme.Expr{g.sequence()}
	for g.next("/") {
		parts = append(parts, g.sequence())
	}
	return g.a.Or(parts...)
}

func (g *abnf) sequence() lexeme.Expr {
	var parts []lexeme.Expr
	for g.next("") && g.rest != "" && !strings.ContainsRune("/)]", rune(g.rest[0])) {
		parts = append(parts, g.repetition())
	}
	return g.a.Then(parts...)
}

// repetition reads an element with its count: n*m, n, or none.
func (g *abnf) repetition() lexeme.Expr {
	least, most := 1, 1
	counted := g.read("0123456789")
	if counted != "" {
		least, _ = strconv.Atoi(counted)
		most = least
	}
	if g.next("*") {
		if counted == "" {
			least = 0
		}
		most = lexeme.Unbounded
		if upper := g.read("0123456789"); upper != "" {
			most, _ = strconv.Atoi(upper)
		}
	}
	x := g.element()
	if least == 1 && most == 1 {
		return x
	}
	return g.a.Repeat(x, least, most)
}

// read reads as many characters of a set as come next.
func (g *abnf) read(set string) string {
	tail := strings.TrimLeft(g.rest, set)
	text := g.rest[:len(g.rest)-len(tail)]
	g.rest = tail
	return text
}

func (g *abnf) element() lexeme.Expr {
	switch {
	case g.next("("):
		return g.closed(g.alternatives(), ")")
	case g.next("["):
		return g.a.Or(lexeme.Empty, g.closed(g.alternatives(), "]"))
	case g.next(`%s"`):
		return g.a.Text(g.quoted())
	case g.next(`"`):
		return g.anyCase(g.quoted())
	case g.next("%x"):
		return g.numbers()
	}
	name := g.read("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
	return g.rule(name)
}

func (g *abnf) closed(x lexeme.Expr, bracket string) lexeme.Expr {
	if !g.next(bracket) {
		return g.fail(bracket + " is missing before " + g.rest)
	}
	return x
}

func (g *abnf) quoted() string {
	text, rest, ok := strings.Cut(g.rest, `"`)
	if !ok {
		g.fail("a quote without an end")
		return ""
	}
	g.rest = rest
	return text
}

// anyCase is a text of ASCII in upper or lower case.
func (g *abnf) anyCase(text string) lexeme.Expr {
	parts := make([]lexeme.Expr, 0, len(text))
	for _, r := range strings.ToLower(text) {
		ranges := []lexeme.Range{{Low: r, High: r}}
		if r >= 'a' && r <= 'z' {
			ranges = append(ranges, lexeme.Range{Low: r - 'a' + 'A', High: r - 'a' + 'A'})
		}
		parts = append(parts, g.a.Class(ranges...))
	}
	return g.a.Then(parts...)
}

// numbers reads what follows %x: a range, or one character.
func (g *abnf) numbers() lexeme.Expr {
	read := func() rune {
		n, err := strconv.ParseUint(g.read("0123456789abcdefABCDEF"), 16, 21)
		if err != nil {
			g.fail("%x without a number: " + g.rest)
		}
		return rune(n)
	}
	low := read()
	high := low
	if rest, ok := strings.CutPrefix(g.rest, "-"); ok {
		g.rest = rest
		high = read()
	}
	return g.a.Class(lexeme.Range{Low: low, High: high})
}

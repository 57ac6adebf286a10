// SPDX-License-Identifier: MIT

package format

import "github.com/penstock/penstock/host/grammar/lexeme"

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

// The lengths that the standards allow: characters, which are bytes where they are ASCII.
const (
	hostLength    = 253
	localLength   = 64
	addressLength = 254
)

func within(a *lexeme.Arena, x lexeme.Expr, length int) lexeme.Expr {
	return a.And(x, a.Repeat(lexeme.Char, 0, length))
}

// hostname is names without A-labels: which of these encode a name that IDNA allows, no expression
// of bearable size tells.
func hostname(g *abnf) lexeme.Expr {
	one := plainLabel(g)
	return within(g.a, g.a.Then(one, g.a.Repeat(g.a.Then(g.a.Text("."), one), 0, lexeme.Unbounded)), hostLength)
}

// plainLabel is a label of ASCII that is no A-label.
func plainLabel(g *abnf) lexeme.Expr {
	return g.a.And(g.rule("label"), g.a.Not(g.a.Then(g.anyCase("xn--"), lexeme.All)))
}

func email(g *abnf) lexeme.Expr {
	whole := g.a.Then(within(g.a, g.rule("local"), localLength), g.a.Text("@"), g.a.Or(g.rule("hosts"), g.rule("literal")))
	return within(g.a, whole, addressLength)
}

// idnEmail is RFC 6531's mailbox. The standard counts its local part in bytes, of which a character
// here has up to four.
func idnEmail(g *abnf) lexeme.Expr {
	local := g.a.Or(within(g.a, g.rule("local"), localLength), within(g.a, g.rule("idn-local"), localLength/4))
	return g.a.Then(local, g.a.Text("@"), g.a.Or(idnHostname(g), g.rule("literal")))
}

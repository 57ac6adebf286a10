// SPDX-License-Identifier: MIT

package format

import (
	"slices"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// labelLength is the characters of a label outside ASCII: of the 63 that its encoded form may have, "xn--" takes four, and a
// character of the basic plane at most five.
const labelLength = 11

// letters are the characters of a label outside ASCII (RFC 5892): those of scripts from left to right and from right to left,
// and the marks, which do not begin a label.
type letters struct{ right, left, marks []lexeme.Range }

// excluded are characters of the categories below that RFC 5892 disallows or allows in a context only: tatweels, tone marks, Arabic
// digits, conjoining Jamo, characters that are ignored, and Cherokee, whose small letters fold to the capitals.
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

// label are the characters, which take a while to find.
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

// virama is the combining class of the only marks that are taken though they may stand behind others: in normal form, which a
// label has, other classes have an order.
const virama = 9

// signs are letters of a label (RFC 5892, section 2.6) that are in none of the categories.
var signs = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x06FD, Hi: 0x06FE, Stride: 1}, {Lo: 0x0F0B, Hi: 0x0F0B, Stride: 1}, {Lo: 0x3007, Hi: 0x3007, Stride: 1}}}

// idnHostname is labels of one direction (RFC 5893): beside one that runs from right to left, those of ASCII begin with a letter.
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
	return within(a, hosts, hostLength/4)
}

// dots are what separates labels.
var dots = []lexeme.Range{{Low: '.', High: '.'}, {Low: 0x3002, High: 0x3002}, {Low: 0xFF0E, High: 0xFF0E}, {Low: 0xFF61, High: 0xFF61}}

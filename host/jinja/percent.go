// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// conversions is a text with % in it, and what it is to be filled with.
type conversions struct {
	r     *run
	args  []Value
	next  int
	dict  *Dict // of %(name)s; nil: there is none
	loose bool  // what is not used is no error
}

// percent is pattern % args.
func (r *run) percent(pattern string, args Value) Value {
	c := &conversions{r: r, args: []Value{args}}
	switch a := args.(type) {
	case *Tuple:
		c.args = a.items
	case *Dict:
		c.dict, c.loose = a, true
	case *List, *Range, *Undefined:
		c.loose = true
	}
	var b builder
	for {
		at := strings.IndexByte(pattern, '%')
		if at < 0 {
			b.add(r, pattern)
			break
		}
		b.add(r, pattern[:at])
		pattern = c.convert(&b, pattern[at+1:])
	}
	if c.next < len(c.args) && !c.loose {
		r.fail("not all arguments converted during string formatting")
	}
	return b.String()
}

func (c *conversions) arg() Value {
	if c.next >= len(c.args) {
		c.r.fail("not enough arguments for format string")
	}
	c.next++
	return c.args[c.next-1]
}

// number reads a width or precision, which may be an argument's.
func (c *conversions) number(s string) (int, string) {
	if strings.HasPrefix(s, "*") {
		n, ok := number(c.arg()).(int)
		if !ok {
			c.r.fail("* wants int")
		}
		return n, s[1:]
	}
	return c.r.leadingInt(s, 0)
}

// convert writes one conversion and gives what is behind it.
func (c *conversions) convert(b *builder, s string) string {
	r := c.r
	var v Value = missing
	if strings.HasPrefix(s, "(") {
		end := closing(s)
		if end < 0 {
			r.fail("incomplete format key")
		}
		if c.dict == nil {
			r.fail("format requires a mapping")
		}
		value, ok := c.dict.Get(s[1:end])
		if !ok {
			r.fail("%s", reprOfText(s[1:end]))
		}
		v, s = value, s[end+1:]
	}
	f := spec{fill: " ", precision: -1, align: '>'}
	zero, left := false, false
	for ; s != "" && strings.IndexByte("#0- +", s[0]) >= 0; s = s[1:] {
		switch s[0] {
		case '#':
			f.alternate = true
		case '0':
			zero = true
		case '-':
			left = true
		case '+':
			f.sign = '+'
		case ' ':
			if f.sign == 0 {
				f.sign = ' '
			}
		}
	}
	if f.width, s = c.number(s); f.width < 0 {
		f.width, left = -f.width, true
	}
	if strings.HasPrefix(s, ".") {
		f.precision, s = c.number(s[1:])
		f.precision = max(f.precision, 0)
	}
	s = strings.TrimLeft(s, "hlL")
	if s == "" {
		r.fail("incomplete format")
	}
	kind, size := utf8.DecodeRuneInString(s)
	s = s[size:]
	if kind == '%' {
		b.add(r, "%")
		return s
	}
	if v == missing {
		v = c.arg()
	}
	isNumber := strings.ContainsRune("diuoxXeEfFgG", kind)
	switch {
	case left:
		f.align = '<'
	case zero && isNumber:
		f.fill, f.align = "0", '='
	}
	b.add(r, c.converted(v, kind, f))
	return s
}

// closing is where the bracket closes that a text begins with, or negative.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (c *conversions) converted(v Value, kind rune, f spec) string {
	r := c.r
	switch kind {
	case 's', 'r', 'a':
		text := r.text(v)
		if kind != 's' {
			text = r.repr(v)
		}
		if kind == 'a' {
			text = asciiOnly(text)
		}
		f.sign = 0
		return r.formatText(text, f)
	case 'c':
		return r.aligned("", c.character(v), f, '>')
	case 'd', 'i', 'u', 'o', 'x', 'X':
		return c.integer(v, byte(kind), f)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		r.defined(v)
		n := number(v)
		if n == nil {
			r.fail("must be real number, not %s", typeName(v))
		}
		f.kind = byte(kind)
		return r.formatFloat(r.floatOf(n), f)
	}
	r.fail("unsupported format character '%c' (0x%x)", kind, kind)
	return ""
}

func asciiOnly(s string) string {
	var out []byte
	for _, c := range s {
		if c < utf8.RuneSelf {
			out = append(out, byte(c))
		} else {
			out = appendHex(out, c)
		}
	}
	return string(out)
}

func (c *conversions) character(v Value) string {
	if s, ok := textOf(v); ok && utf8.RuneCountInString(s) == 1 {
		return s
	}
	n, ok := v.(int)
	if !ok {
		c.r.fail("%%c requires int or char")
	}
	if n < 0 || n > unicode.MaxRune {
		c.r.fail("%%c arg not in range(0x110000)")
	}
	return string(rune(n))
}

// integer writes an int, whose precision is its least digits.
func (c *conversions) integer(v Value, kind byte, f spec) string {
	r := c.r
	r.defined(v)
	n := number(v)
	if x, ok := n.(float64); ok && (kind == 'd' || kind == 'i' || kind == 'u') {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			r.fail("cannot convert float %s to integer", map[bool]string{true: "NaN", false: "infinity"}[math.IsNaN(x)])
		}
		n = intOf(x)
	}
	i := bigOf(n)
	if i == nil {
		if kind == 'd' || kind == 'i' || kind == 'u' {
			r.fail("%%%c format: a real number is required, not %s", kind, typeName(v))
		}
		r.fail("%%%c format: an integer is required, not %s", kind, typeName(v))
	}
	prefix := signOf(i.Sign() < 0, f.sign)
	abs := new(big.Int).Abs(i)
	var s string
	switch kind {
	case 'o', 'x', 'X':
		r.bits(i.BitLen())
		s = abs.Text(map[byte]int{'o': 8, 'x': 16, 'X': 16}[kind])
		if f.alternate {
			prefix += "0" + string(kind)
		}
		if kind == 'X' {
			s = strings.ToUpper(s)
		}
	default:
		s = r.decimal(abs)
	}
	s = r.pad(s, f.precision, "0", 1)
	return r.aligned(prefix, s, f, '>')
}

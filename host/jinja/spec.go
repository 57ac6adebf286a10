// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is how a value is to be written: of Python's format(), or of a conversion with %.
type spec struct {
	fill      string
	align     byte // < > ^ =; 0: as the type has it
	sign      byte // + - space; 0: none
	alternate bool
	width     int
	group     byte // , or _; 0: none
	precision int  // negative: none
	kind      byte // 0: as the type has it
}

// parseSpec reads a format specification.
func (r *run) parseSpec(s string) spec {
	whole := s
	f := spec{fill: " ", precision: -1}
	if s != "" {
		_, n := utf8.DecodeRuneInString(s)
		if len(s) > n && strings.IndexByte("<>^=", s[n]) >= 0 {
			f.fill, f.align, s = s[:n], s[n], s[n+1:]
		} else if strings.IndexByte("<>^=", s[0]) >= 0 {
			f.align, s = s[0], s[1:]
		}
	}
	take := func(set string) (c byte) {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c, s = s[0], s[1:]
		}
		return c
	}
	f.sign = take("+- ")
	f.alternate = take("#") != 0
	if take("0") != 0 && f.align == 0 {
		f.fill, f.align = "0", '='
	}
	f.width, s = r.leadingInt(s, 0)
	f.group = take(",_")
	if take(".") != 0 {
		if f.precision, s = r.leadingInt(s, -1); f.precision < 0 {
			r.fail("Format specifier missing precision")
		}
	}
	if len(s) > 1 {
		r.fail("Invalid format specifier %s", reprOfText(whole))
	}
	f.kind = take("bcdeEfFgGnosxX%")
	if s != "" {
		r.fail("Unknown format code %s", reprOfText(s))
	}
	return f
}

// leadingInt reads the digits that a text begins with.
func (r *run) leadingInt(s string, none int) (int, string) {
	n := digitsIn(s, isDigit)
	if n == 0 {
		return none, s
	}
	i, err := strconv.Atoi(s[:n])
	if err != nil || i > 1<<31 {
		r.fail("Too many decimal digits in format string")
	}
	return i, s[n:]
}

// format is format(v, s).
func (r *run) format(v Value, s string) string {
	if s == "" {
		return r.text(v)
	}
	f := r.parseSpec(s)
	if text, ok := textOf(v); ok {
		return r.formatText(text, f)
	}
	switch n := number(v).(type) {
	case int, *big.Int:
		if strings.IndexByte("eEfFgG%", f.kind) >= 0 && f.kind != 0 {
			return r.formatFloat(r.floatOf(n), f)
		}
		return r.formatInt(bigOf(n), f)
	case float64:
		return r.formatFloat(n, f)
	}
	r.fail("unsupported format string passed to %s.__format__", typeName(v))
	return ""
}

func (r *run) formatText(s string, f spec) string {
	if f.kind != 0 && f.kind != 's' {
		r.fail("Unknown format code '%c' for object of type 'str'", f.kind)
	}
	switch {
	case f.align == '=':
		r.fail("'=' alignment not allowed in string format specifier")
	case f.sign != 0:
		r.fail("Sign not allowed in string format specifier")
	}
	if f.precision >= 0 && f.precision < utf8.RuneCountInString(s) {
		s = s[:byteAt(s, f.precision)]
	}
	return r.aligned("", s, f, '<')
}

// aligned fills a number, whose sign and prefix may stand before the fill, or a text.
func (r *run) aligned(prefix, s string, f spec, usual byte) string {
	align := f.align
	if align == 0 {
		align = usual
	}
	switch align {
	case '<':
		return r.pad(prefix+s, f.width, f.fill, -1)
	case '>':
		return r.pad(prefix+s, f.width, f.fill, 1)
	case '=':
		return prefix + r.pad(s, f.width-len(prefix), f.fill, 1)
	}
	whole := prefix + s
	n := max(f.width-utf8.RuneCountInString(whole), 0)
	return r.pad(r.pad(whole, f.width-(n-n/2), f.fill, 1), f.width, f.fill, -1)
}

func signOf(negative bool, sign byte) string {
	switch {
	case negative:
		return "-"
	case sign == '+' || sign == ' ':
		return string(sign)
	}
	return ""
}

func (r *run) formatInt(i *big.Int, f spec) string {
	if f.precision >= 0 {
		r.fail("Precision not allowed in integer format specifier")
	}
	prefix := signOf(i.Sign() < 0, f.sign)
	abs := new(big.Int).Abs(i)
	var s string
	every := 3
	switch f.kind {
	case 0, 'd', 'n':
		s = r.decimal(abs)
	case 'c':
		if !i.IsInt64() || i.Int64() < 0 || i.Int64() > utf8.MaxRune {
			r.fail("%%c arg not in range(0x110000)")
		}
		return r.aligned("", string(rune(i.Int64())), f, '<')
	case 'b', 'o', 'x', 'X':
		r.bits(i.BitLen())
		base := map[byte]int{'b': 2, 'o': 8, 'x': 16, 'X': 16}[f.kind]
		s = abs.Text(base)
		if f.kind == 'X' {
			s = strings.ToUpper(s)
		}
		if f.alternate {
			prefix += "0" + string(f.kind)
		}
		every = 4
	default:
		r.fail("Unknown format code '%c' for object of type 'int'", f.kind)
	}
	return r.aligned(prefix, grouped(s, f, every, len(prefix)), f, '>')
}

// grouped separates the digits before the point, and fills with zeros within the width.
func grouped(s string, f spec, every, before int) string {
	if f.group == 0 {
		return s
	}
	end := strings.IndexFunc(s, func(c rune) bool { return c == '.' || c == 'e' || c == 'E' || c == '%' })
	if end < 0 {
		end = len(s)
	}
	whole, rest := s[:end], s[end:]
	out := separated(whole, f.group, every)
	for f.fill == "0" && f.align == '=' && f.width < 1<<16 && len(out)+len(rest)+before < f.width {
		whole = "0" + whole
		out = separated(whole, f.group, every)
	}
	return out + rest
}

func separated(s string, sep byte, every int) string {
	var out []byte
	for i := range len(s) {
		if i > 0 && (len(s)-i)%every == 0 {
			out = append(out, sep)
		}
		out = append(out, s[i])
	}
	return string(out)
}

func (r *run) formatFloat(v float64, f spec) string {
	prefix := signOf(math.Signbit(v) && !math.IsNaN(v), f.sign)
	if strings.IndexByte("eEfFgGn%", f.kind) < 0 && f.kind != 0 {
		r.fail("Unknown format code '%c' for object of type 'float'", f.kind)
	}
	return r.aligned(prefix, grouped(r.floatDigits(math.Abs(v), f), f, 3, len(prefix)), f, '>')
}

// floatDigits writes a float that is not negative.
func (r *run) floatDigits(v float64, f spec) string {
	percent := ""
	kind := f.kind
	if kind == '%' {
		v, kind, percent = v*100, 'f', "%"
	}
	if math.IsInf(v, 0) || math.IsNaN(v) {
		s := strings.TrimPrefix(floatText(v), "-")
		if kind == 'E' || kind == 'F' || kind == 'G' {
			s = strings.ToUpper(s)
		}
		return s + percent
	}
	precision := f.precision
	if precision < 0 {
		if kind == 0 {
			return floatText(v)
		}
		precision = 6
	}
	r.charge(precision + 400)
	var s string
	switch kind {
	case 'f', 'F':
		s = strconv.FormatFloat(v, 'f', precision, 64)
		if f.alternate && precision == 0 {
			s += "."
		}
	case 'e', 'E':
		s = strconv.FormatFloat(v, 'e', precision, 64)
	default:
		s = general(v, max(precision, 1), kind == 0, f.alternate)
	}
	if kind == 'E' || kind == 'G' {
		s = strings.ToUpper(s)
	}
	return s + percent
}

// general writes a float with so many digits, as %g does. With isBare it is one that has no kind,
// which keeps a digit behind the point.
func general(v float64, precision int, isBare, keepZeros bool) string {
	e := strconv.FormatFloat(v, 'e', precision-1, 64)
	at := strings.IndexByte(e, 'e')
	exp, _ := strconv.Atoi(e[at+1:])
	trim := func(s string) string {
		if keepZeros || !strings.Contains(s, ".") {
			return s
		}
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	most := precision
	if isBare {
		most-- // format(1e3, '.3') has no room for a digit behind the point
		most = max(most, 1)
	}
	if exp < -4 || exp >= most && !(isBare && precision == 1 && exp < 1) {
		return trim(e[:at]) + e[at:]
	}
	s := trim(strconv.FormatFloat(v, 'f', max(precision-1-exp, 0), 64))
	if isBare && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

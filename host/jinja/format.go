// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fields of str.format(), and what they are filled with.
type replacement struct {
	r     *run
	plain []Value
	named []entry
	next  int // of the fields without a name; negative: fields have numbers
}

// braces is pattern.format(...).
func (r *run) braces(pattern string, plain []Value, named []entry) string {
	return (&replacement{r: r, plain: plain, named: named}).fill(pattern, 2)
}

// fill fills a pattern, whose fields' formats may have fields to some depth.
func (p *replacement) fill(s string, depth int) string {
	r := p.r
	if depth == 0 {
		r.fail("Max string recursion exceeded")
	}
	var b builder
	for s != "" {
		at := strings.IndexAny(s, "{}")
		if at < 0 {
			b.add(r, s)
			break
		}
		b.add(r, s[:at])
		c := s[at]
		if s = s[at+1:]; s != "" && s[0] == c {
			b.add(r, string(c))
			s = s[1:]
			continue
		}
		switch {
		case c == '}':
			r.fail("Single '}' encountered in format string")
		case s == "":
			r.fail("Single '{' encountered in format string")
		}
		end := p.end(s)
		b.add(r, p.field(s[:end], depth))
		s = s[end+1:]
	}
	return b.String()
}

// end is where the field ends that was begun.
func (p *replacement) end(s string) int {
	depth := 1
	brackets := false
	for i := range len(s) {
		switch {
		case brackets:
			brackets = s[i] != ']'
		case s[i] == '[':
			brackets = depth == 1 && !strings.Contains(s[:i], ":")
		case s[i] == '{':
			depth++
		case s[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	p.r.fail("expected '}' before end of string")
	return 0
}

func (p *replacement) field(s string, depth int) string {
	r := p.r
	n, how := s, ""
	conversion := byte(0)
	if at := strings.IndexAny(s, ":!"); at >= 0 {
		n, how = s[:at], s[at+1:]
		if s[at] == '!' {
			if how == "" || len(how) > 1 && how[1] != ':' {
				r.fail("expected ':' after conversion specifier")
			}
			conversion = how[0]
			how = strings.TrimPrefix(how[1:], ":")
		}
	}
	v := p.value(n)
	switch conversion {
	case 0:
	case 's':
		v = r.text(v)
	case 'r':
		v = r.repr(v)
	case 'a':
		v = asciiOnly(r.repr(v))
	default:
		r.fail("Unknown conversion specifier %s", reprOfText(string(conversion)))
	}
	return r.format(v, p.fill(how, depth-1+boolInt(how == "")))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// value is what a field's name stands for, with its attributes and items.
func (p *replacement) value(n string) Value {
	r := p.r
	end := strings.IndexAny(n, ".[")
	if end < 0 {
		end = len(n)
	}
	v := p.first(n[:end])
	for rest := n[end:]; rest != ""; {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				r.fail("Empty attribute in format string")
			}
			v, rest = r.attribute(v, rest[1:1+end]), rest[1+end:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		switch {
		case end < 0:
			r.fail("Missing ']' in format string")
		case end == 1:
			r.fail("Empty attribute in format string")
		}
		var key Value = rest[1:end]
		if i, err := strconv.Atoi(rest[1:end]); err == nil && isDigit(rest[1]) {
			key = i
		}
		v, rest = r.item(v, key), rest[end+1:]
		if rest != "" && rest[0] != '.' && rest[0] != '[' {
			r.fail("Only '.' or '[' may follow ']' in format field specifier")
		}
	}
	return v
}

func (p *replacement) first(n string) Value {
	r := p.r
	i, err := strconv.Atoi(n)
	switch {
	case n == "":
		if p.next < 0 {
			r.fail("cannot switch from manual field specification to automatic field numbering")
		}
		i = p.next
		p.next++
	case err == nil && i >= 0:
		if p.next > 0 {
			r.fail("cannot switch from automatic field numbering to manual field specification")
		}
		p.next = -1
	default:
		for _, e := range p.named {
			if e.key == n {
				return e.value
			}
		}
		r.fail("%s", reprOfText(n))
	}
	if i >= len(p.plain) {
		r.fail("Replacement index %d out of range for positional args tuple", i)
	}
	return p.plain[i]
}

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

// general writes a float as %g does, with precision digits. With isBare its format names no kind,
// and a digit stays behind the point.
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

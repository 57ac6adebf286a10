// SPDX-License-Identifier: MIT

package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FromJSON is a JSON text as Python's json.loads reads it: ints of any size, floats with a point or
// an exponent.
func FromJSON(text []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decode(d, 0)
	if err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// maxJSONDepth is how deep a JSON text may nest.
const maxJSONDepth = 500

func decode(d *json.Decoder, depth int) (Value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("nests more than %d deep", maxJSONDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return jsonNumber(string(t))
	case json.Delim:
		if t == '[' {
			l := &List{}
			for d.More() {
				v, err := decode(d, depth+1)
				if err != nil {
					return nil, err
				}
				l.Items = append(l.Items, v)
			}
			_, err := d.Token()
			return l, err
		}
		o := NewDict(4)
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.Set(key.(string), v)
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil // nil, bool, string
}

func jsonNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, err
		}
		return f, nil // too large is infinite
	}
	if i, err := strconv.Atoi(s); err == nil {
		return i, nil
	}
	if len(s) > maxDigits {
		return nil, fmt.Errorf("a number has more than %d digits", maxDigits)
	}
	i, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("%q is no number", s)
	}
	return normalInt(i), nil
}

// dumper writes JSON as Python's json.dumps does.
type dumper struct {
	r         *run
	b         builder
	ascii     bool
	sorted    bool
	indent    string
	hasIndent bool
	comma     string
	colon     string
}

// toJSON is Transformers' filter tojson.
func toJSON(r *run, v Value, a *Args) Value {
	var ascii, indent, separators, sorted Value = false, nil, nil, false
	a.take(r, 0, []string{"ensure_ascii", "indent", "separators", "sort_keys"}, &ascii, &indent, &separators, &sorted)
	d := &dumper{r: r, ascii: r.truth(ascii), sorted: r.truth(sorted), comma: ", ", colon: ": "}
	if indent != nil {
		d.hasIndent, d.comma = true, ","
		if s, ok := textOf(indent); ok {
			d.indent = s
		} else {
			d.indent = r.pad("", r.intArg(indent), " ", 1)
		}
	}
	if separators != nil {
		two := r.unpack(separators, 2)
		d.comma, d.colon = r.textArg(two[0], "the separator"), r.textArg(two[1], "the separator")
	}
	d.write(v, 0)
	return d.b.String()
}

func (d *dumper) write(v Value, depth int) {
	r := d.r
	r.step(1)
	switch v := v.(type) {
	case string:
		d.text(v)
	case Markup:
		d.text(string(v))
	case *List:
		d.list(v.Items, depth)
	case *Tuple:
		d.list(v.items, depth)
	case *Dict:
		d.dict(v, depth)
	default:
		if v, ok := v.(*Generator); ok && r.lenient {
			d.list(r.items(v), depth)
			return
		}
		s, ok := d.scalar(v)
		if _, undefined := v.(*Undefined); undefined && r.lenient {
			s, ok = "null", true
		}
		if !ok {
			r.fail("Object of type %s is not JSON serializable", typeName(v))
		}
		d.b.add(r, s)
	}
}

func (d *dumper) scalar(v Value) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case int, *big.Int:
		return d.r.text(v), true
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN", true
		case math.IsInf(v, 1):
			return "Infinity", true
		case math.IsInf(v, -1):
			return "-Infinity", true
		}
		return floatText(v), true
	}
	return "", false
}

// line begins a line of an indented text.
func (d *dumper) line(depth int) {
	if d.hasIndent {
		d.b.add(d.r, "\n"+d.r.repeated(d.indent, depth))
	}
}

func (r *run) repeated(s string, n int) string {
	r.charge(len(s) * n)
	return strings.Repeat(s, n)
}

func (d *dumper) list(items []Value, depth int) {
	if len(items) == 0 {
		d.b.add(d.r, "[]")
		return
	}
	defer d.r.deeper()()
	for i, item := range items {
		d.b.add(d.r, map[bool]string{true: "[", false: d.comma}[i == 0])
		d.line(depth + 1)
		d.write(item, depth+1)
	}
	d.line(depth)
	d.b.add(d.r, "]")
}

func (d *dumper) dict(v *Dict, depth int) {
	if len(v.entries) == 0 {
		d.b.add(d.r, "{}")
		return
	}
	defer d.r.deeper()()
	for i, e := range d.ordered(v) {
		d.b.add(d.r, map[bool]string{true: "{", false: d.comma}[i == 0])
		d.line(depth + 1)
		if s, ok := textOf(e.key); ok {
			d.text(s)
		} else {
			s, ok := d.scalar(e.key)
			if !ok {
				d.r.fail("keys must be str, int, float, bool or None, not %s", typeName(e.key))
			}
			d.b.add(d.r, `"`+s+`"`)
		}
		d.b.add(d.r, d.colon)
		d.write(e.value, depth+1)
	}
	d.line(depth)
	d.b.add(d.r, "}")
}

func (d *dumper) ordered(v *Dict) []entry {
	if !d.sorted {
		return v.entries
	}
	keys := d.r.sorted(d.r.items(v), func(key Value) Value { return key }, false)
	out := make([]entry, len(keys))
	for i, key := range keys {
		out[i] = v.entries[v.find(d.r.hash(key))]
	}
	return out
}

// text writes a text with JSON's escapes.
func (d *dumper) text(s string) {
	d.r.charge(len(s) + 2)
	b := &d.b.Builder
	b.WriteByte('"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && (c < 0x7f || !d.ascii) {
			i++
			continue
		}
		b.WriteString(s[from:i])
		size := 1
		if short, ok := shortEscapes[c]; ok {
			b.WriteString(short)
		} else {
			var char rune
			char, size = utf8.DecodeRuneInString(s[i:])
			d.r.charge(12)
			if char > 0xffff {
				char -= 0x10000
				fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+char>>10, 0xdc00+char&0x3ff)
			} else {
				fmt.Fprintf(b, `\u%04x`, char)
			}
		}
		i += size
		from = i
	}
	b.WriteString(s[from:])
	b.WriteByte('"')
}

var shortEscapes = map[byte]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

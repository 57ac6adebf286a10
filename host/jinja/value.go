// SPDX-License-Identifier: MIT

package jinja

import (
	"iter"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Value is a value of a template: nil, bool, int, *big.Int (one that no int holds), float64,
// string, Markup, *List, *Tuple, *Dict, or one of this package's other types.
type Value any

type (
	// Markup is a text whose HTML is escaped.
	Markup string
	// List is a Python list.
	List struct{ Items []Value }
	// Tuple is a Python tuple.
	Tuple struct {
		items []Value
		names []string // of the items of a named tuple
	}
	// Undefined is what a name stands for that has no value.
	Undefined struct {
		hint  string
		of    Value // of which name is missing, where hasOf
		name  Value
		hasOf bool
	}
	// Namespace is an object whose attributes a template sets.
	Namespace struct{ attrs *Dict }
	// Range is numbers that are counted when they are asked for.
	Range struct{ start, stop, step int }
	// View is the keys, values or items of a dict.
	View struct {
		of   *Dict
		what string
	}
	// Generator gives its values once.
	Generator struct {
		name string
		next func() (Value, bool)
	}
	// Macro is a macro, or the body of a call block, and what it sees.
	Macro struct {
		body  *macroBody
		scope *scope
	}
	// Function is one of Jinja2's, or a method of a value.
	Function struct {
		name string
		of   Value // nil: of none
		call func(r *run, a *Args) Value
	}
	// Cycler goes through values round by round.
	Cycler struct {
		items []Value
		at    int
	}
	// Joiner is a text from the second use on.
	Joiner struct {
		sep  Value
		used bool
	}
)

// typeName is what Python calls the type of a value.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case Markup:
		return "Markup"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *Undefined:
		return "Undefined"
	case *Namespace:
		return "Namespace"
	case *Range:
		return "range"
	case *View:
		return "dict_" + v.what
	case *Generator:
		return v.name
	case *Macro:
		return "Macro"
	case *Loop:
		return "LoopContext"
	case *Cycler:
		return "Cycler"
	case *Joiner:
		return "Joiner"
	case *Function:
		if v.of != nil {
			return "builtin_function_or_method"
		}
		return "function"
	}
	return "object"
}

// complaint is what is wrong with using it.
func (u *Undefined) complaint() string {
	switch {
	case u.hint != "":
		return u.hint
	case !u.hasOf:
		return plainRepr(u.name) + " is undefined"
	}
	if _, ok := u.name.(string); !ok {
		return objectRepr(u.of) + " has no element " + plainRepr(u.name)
	}
	return reprOfText(objectRepr(u.of)) + " has no attribute " + plainRepr(u.name)
}

func objectRepr(v Value) string {
	if v == nil {
		return "None"
	}
	switch v.(type) {
	case *Namespace:
		return "jinja2.utils.Namespace object"
	case *Macro, *Loop, *Undefined:
		return "jinja2.runtime." + typeName(v) + " object"
	}
	return typeName(v) + " object"
}

// plainRepr is the repr of a name or a number.
func plainRepr(v Value) string {
	switch v := v.(type) {
	case string:
		return reprOfText(v)
	case int:
		return strconv.Itoa(v)
	}
	return typeName(v)
}

// defined fails for what is undefined.
func (r *run) defined(values ...Value) {
	for _, v := range values {
		if u, ok := v.(*Undefined); ok {
			r.fail("%s", u.complaint())
		}
	}
}

// truth is whether Python takes a value for true.
func (r *run) truth(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case Markup:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Tuple:
		return len(v.items) > 0
	case *Dict:
		return len(v.entries) > 0
	case *Undefined:
		return false
	case *Range:
		return v.len() > 0
	case *View:
		return len(v.of.entries) > 0
	case *Loop:
		return v.length(r) > 0
	}
	return true
}

// text is str(v).
func (r *run) text(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case Markup:
		return string(v)
	case *Undefined:
		return ""
	}
	return r.repr(v)
}

// repr is repr(v).
func (r *run) repr(v Value) string {
	var b builder
	r.writeRepr(&b, v)
	return b.String()
}

func (r *run) writeRepr(b *builder, v Value) {
	r.step(1)
	switch v := v.(type) {
	case nil:
		b.add(r, "None")
	case bool:
		b.add(r, map[bool]string{true: "True", false: "False"}[v])
	case int:
		b.add(r, strconv.Itoa(v))
	case *big.Int:
		b.add(r, r.decimal(v))
	case float64:
		b.add(r, floatText(v))
	case string:
		b.add(r, reprOfText(v))
	case Markup:
		b.add(r, "Markup("+reprOfText(string(v))+")")
	case *List:
		b.add(r, "[")
		r.writeItems(b, v.Items)
		b.add(r, "]")
	case *Tuple:
		b.add(r, "(")
		r.writeItems(b, v.items)
		if len(v.items) == 1 {
			b.add(r, ",")
		}
		b.add(r, ")")
	case *Dict:
		r.writeDict(b, v)
	case *Undefined:
		b.add(r, "Undefined")
	case *Namespace:
		b.add(r, "<Namespace ")
		r.writeRepr(b, v.attrs)
		b.add(r, ">")
	case *Range:
		b.add(r, "range("+strconv.Itoa(v.start)+", "+strconv.Itoa(v.stop))
		if v.step != 1 {
			b.add(r, ", "+strconv.Itoa(v.step))
		}
		b.add(r, ")")
	case *View:
		b.add(r, "dict_"+v.what+"([")
		r.writeItems(b, r.items(v))
		b.add(r, "])")
	case *Macro:
		b.add(r, "<Macro ")
		if v.body.name == "" {
			b.add(r, "anonymous>")
		} else {
			b.add(r, reprOfText(v.body.name)+">")
		}
	case *Loop:
		b.add(r, format("<LoopContext %d/%d>", v.index0+1, v.length(r)))
	case *Function:
		if v.of != nil {
			b.add(r, "<built-in method "+v.name+" of "+typeName(v.of)+" object>")
		} else {
			b.add(r, "<function "+v.name+">")
		}
	default:
		b.add(r, "<"+typeName(v)+" object>")
	}
}

func (r *run) writeItems(b *builder, items []Value) {
	defer r.deeper()()
	for i, item := range items {
		if i > 0 {
			b.add(r, ", ")
		}
		r.writeRepr(b, item)
	}
}

func (r *run) writeDict(b *builder, d *Dict) {
	defer r.deeper()()
	b.add(r, "{")
	for i, e := range d.entries {
		if i > 0 {
			b.add(r, ", ")
		}
		r.writeRepr(b, e.key)
		b.add(r, ": ")
		r.writeRepr(b, e.value)
	}
	b.add(r, "}")
}

// reprOfText is the repr of a text.
func reprOfText(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	out := make([]byte, 0, len(s)+2)
	out = append(out, quote)
	for _, c := range s {
		switch {
		case c == rune(quote) || c == '\\':
			out = append(out, '\\', byte(c))
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c < ' ' || c >= 0x7f && !unicode.IsPrint(c):
			out = appendHex(out, c)
		default:
			out = utf8.AppendRune(out, c)
		}
	}
	return string(append(out, quote))
}

func appendHex(out []byte, c rune) []byte {
	pattern := `\x%02x`
	switch {
	case c > 0xffff:
		pattern = `\U%08x`
	case c > 0xff:
		pattern = `\u%04x`
	}
	return append(out, format(pattern, c)...)
}

// Dict is a Python dict: it keeps the order of its keys, and 1, 1.0 and True are one key.
type Dict struct {
	entries []entry
	index   map[any]int // of entries by hash, where there are many
}

type entry struct {
	hash  any // what keys that are equal have in common
	key   Value
	value Value
}

// manyEntries is from how many entries on a dict has an index.
const manyEntries = 9

// NewDict is an empty dict with room for n entries.
func NewDict(n int) *Dict { return &Dict{entries: make([]entry, 0, min(n, 64))} }

// Set gives a text a value.
func (d *Dict) Set(key string, v Value) { d.put(key, key, v) }

// Get is the value of a text.
func (d *Dict) Get(key string) (Value, bool) {
	if i := d.find(key); i >= 0 {
		return d.entries[i].value, true
	}
	return nil, false
}

// Replace gives the place of a text to another text with a value.
func (d *Dict) Replace(key, by string, v Value) {
	if i := d.find(key); i >= 0 {
		d.entries[i] = entry{by, by, v}
		d.reindex()
	}
}

// Values goes through the values.
func (d *Dict) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, e := range d.entries {
			if !yield(e.value) {
				return
			}
		}
	}
}

func (d *Dict) find(hash any) int {
	if d.index != nil {
		if i, ok := d.index[hash]; ok {
			return i
		}
		return -1
	}
	if text, ok := hash.(string); ok {
		for i := range d.entries {
			if s, ok := d.entries[i].hash.(string); ok && s == text {
				return i
			}
		}
		return -1
	}
	for i := range d.entries {
		if d.entries[i].hash == hash {
			return i
		}
	}
	return -1
}

func (d *Dict) put(hash any, key, v Value) {
	if i := d.find(hash); i >= 0 {
		d.entries[i].value = v
		return
	}
	d.entries = append(d.entries, entry{hash, key, v})
	switch n := len(d.entries); {
	case n == manyEntries:
		d.reindex()
	case n > manyEntries:
		d.index[hash] = n - 1
	}
}

func (d *Dict) reindex() {
	d.index = nil
	if len(d.entries) >= manyEntries {
		d.index = make(map[any]int, len(d.entries))
		for i, e := range d.entries {
			d.index[e.hash] = i
		}
	}
}

func (d *Dict) copy(r *run) *Dict {
	r.charge(64 * len(d.entries))
	c := &Dict{entries: append([]entry(nil), d.entries...)}
	c.reindex()
	return c
}

func (r *run) set(d *Dict, key, v Value) {
	r.charge(64)
	d.put(r.hash(key), key, v)
}

func (d *Dict) get(r *run, key Value) (Value, bool) {
	if i := d.find(r.hash(key)); i >= 0 {
		return d.entries[i].value, true
	}
	return nil, false
}

// pop takes a key out.
func (d *Dict) pop(r *run, key Value) (Value, bool) {
	i := d.find(r.hash(key))
	if i < 0 {
		return nil, false
	}
	v := d.entries[i].value
	r.step(len(d.entries) + 1)
	d.entries = append(d.entries[:i:i], d.entries[i+1:]...)
	d.reindex()
	return v, true
}

// The kinds of hashes that are no texts.
type (
	noneHash  struct{}
	bigHash   string
	tupleHash string
)

// hash is equal for keys that Python takes for equal.
func (r *run) hash(v Value) any {
	switch v := v.(type) {
	case nil:
		return noneHash{}
	case string, int:
		return v
	case Markup:
		return string(v)
	case bool:
		if v {
			return 1
		}
		return 0
	case *big.Int:
		return bigHash(v.Text(62))
	case float64:
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			return r.hash(intOf(v))
		}
		return v
	case *Tuple:
		return r.hashTuple(v)
	case *List, *Dict, *View, *Namespace:
		r.fail("unhashable type: '%s'", typeName(v))
	case *Undefined:
		return (*Undefined)(nil)
	case *Range:
		return *v
	}
	return v // a pointer
}

func (r *run) hashTuple(t *Tuple) tupleHash {
	defer r.deeper()()
	var b strings.Builder
	for _, item := range t.items {
		r.step(1)
		var part string
		switch h := r.hash(item).(type) {
		case string:
			part = "s" + h
		case int:
			part = "i" + strconv.Itoa(h)
		case bigHash:
			part = "b" + string(h)
		case float64:
			part = "f" + floatText(h)
		case tupleHash:
			part = "t" + string(h)
		case noneHash:
			part = "n"
		default:
			part = format("p%p", h)
		}
		r.charge(len(part) + 8)
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return tupleHash(b.String())
}

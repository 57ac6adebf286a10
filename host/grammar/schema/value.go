// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a document.
const (
	maxDepth  = 400     // of objects and lists within each other
	maxValues = 200_000 // in all
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
	kinds
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// value is a value of the document, which knows where it stands. Members keep their order.
type value struct {
	kind   kind
	text   string   // of a string; of a number as it is written; of a boolean
	names  []string // of an object's members
	items  []*value // of a list, or of the members
	index  map[string]int
	parent *value
	step   string // from the parent
	id     int

	canonical string // what same returns; "" where it was not asked
}

// member is nil where an object has none, or v is no object.
func (v *value) member(name string) *value {
	if v.kind != object {
		return nil
	}
	if i, has := v.index[name]; has {
		return v.items[i]
	}
	return nil
}

func (v *value) yes() bool { return v.kind == boolean && v.text == "true" }

// pointer is the place as the fragment of a URI.
func (v *value) pointer() string {
	if v.parent == nil {
		if v.step != "" {
			return v.step
		}
		return "#"
	}
	return v.parent.pointer() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(v.step)
}

// parser reads a document.
type parser struct {
	from  *json.Decoder
	count int
}

func parse(document []byte) (*value, int, error) {
	p := &parser{from: json.NewDecoder(strings.NewReader(string(document)))}
	p.from.UseNumber()
	v, err := p.value(nil, "", 0)
	if err == nil {
		if _, after := p.from.Token(); after != io.EOF {
			err = errors.New("something follows it")
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the JSON schema is not valid JSON: %w", err)
	}
	return v, p.count, nil
}

func (p *parser) value(parent *value, step string, depth int) (*value, error) {
	token, err := p.from.Token()
	if err != nil {
		return nil, noEnd(err)
	}
	v := &value{parent: parent, step: step, id: p.count}
	p.count++
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	if p.count > maxValues {
		return nil, fmt.Errorf("it has more than %d values", maxValues)
	}
	switch t := token.(type) {
	case nil:
		v.kind = null
	case bool:
		v.kind, v.text = boolean, strconv.FormatBool(t)
	case json.Number:
		v.kind, v.text = number, t.String()
	case string:
		v.kind, v.text = text, t
	case json.Delim:
		if t == '[' {
			v.kind = list
			return v, p.list(v, depth)
		}
		v.kind, v.index = object, map[string]int{}
		return v, p.object(v, depth)
	}
	return v, nil
}

// noEnd is io.EOF as the error that it is within a document.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (p *parser) list(v *value, depth int) error {
	for p.from.More() {
		item, err := p.value(v, strconv.Itoa(len(v.items)), depth+1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	_, err := p.from.Token()
	return noEnd(err)
}

func (p *parser) object(v *value, depth int) error {
	for p.from.More() {
		token, err := p.from.Token()
		if err != nil {
			return noEnd(err)
		}
		name, _ := token.(string)
		member, err := p.value(v, name, depth+1)
		if err != nil {
			return err
		}
		if i, twice := v.index[name]; twice {
			v.items[i] = member // as JSON readers do: the last counts
			continue
		}
		v.index[name] = len(v.names)
		v.names, v.items = append(v.names, name), append(v.items, member)
	}
	_, err := p.from.Token()
	return noEnd(err)
}

// same is a text that is equal for values that JSON Schema takes for one: 1 and 1.0 are, members
// have no order.
func (v *value) same() string {
	if v.canonical == "" {
		switch v.kind {
		case list:
			parts := make([]string, len(v.items))
			for i, item := range v.items {
				parts[i] = item.same()
			}
			v.canonical = "[" + strings.Join(parts, ",") + "]"
		case object:
			parts := make([]string, len(v.items))
			for i, item := range v.items {
				parts[i] = strconv.Quote(v.names[i]) + ":" + item.same()
			}
			slices.Sort(parts)
			v.canonical = "{" + strings.Join(parts, ",") + "}"
		case number:
			if v.canonical = plain(v.text); v.canonical == "" {
				v.canonical = strings.ToLower(v.text)
			}
		case text:
			v.canonical = strconv.Quote(v.text)
		case null:
			v.canonical = "null"
		default:
			v.canonical = v.text
		}
	}
	return v.canonical
}

func equal(a, b *value) bool { return a.kind == b.kind && a.same() == b.same() }

// among reports whether a value is one of some.
func (v *value) among(values []*value) bool {
	return slices.ContainsFunc(values, func(w *value) bool { return equal(v, w) })
}

// maxExponent bounds a number's exponent: its digits are written out.
const maxExponent = 400

// rational is nil for a number that takes too many digits.
func rational(s string) *big.Rat {
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		e, err := strconv.Atoi(s[at+1:])
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil
		}
	}
	if len(s) > 2*maxExponent {
		return nil
	}
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return x
}

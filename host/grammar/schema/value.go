// SPDX-License-Identifier: MIT

package schema

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
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
	weight int // bytes of its own text, of its names, and of the texts in it

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

// The bounds of a pointer that is told, in bytes: of a step, and of all of it.
const (
	maxStep    = 80
	maxPointer = 240
)

var escapeStep = strings.NewReplacer("~", "~0", "/", "~1").Replace

// pointer is the place as the fragment of a URI. Of a long one it is the end.
func (v *value) pointer() string {
	path := ""
	for ; v.parent != nil; v = v.parent {
		if len(path) > maxPointer {
			return "#/…" + path
		}
		path = "/" + escapeStep(excerpt.Of(v.step, maxStep)) + path
	}
	return "#" + path
}

// parser reads a document.
type parser struct {
	from  *json.Decoder
	stop  func() error // asked before each value; what it returns ends the work
	count int
}

func parse(document []byte, stop func() error) (*value, int, error) {
	p := &parser{from: json.NewDecoder(bytes.NewReader(document)), stop: stop}
	p.from.UseNumber()
	v, err := p.value(nil, "", 0)
	if why := stop(); why != nil {
		return nil, 0, why
	}
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
	if err := p.stop(); err != nil {
		return nil, err
	}
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
		v.kind, v.text, v.weight = number, t.String(), len(t)
	case string:
		v.kind, v.text, v.weight = text, t, len(t)
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
		v.weight += len(item.text)
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
		v.weight += len(name)
		v.names, v.items = append(v.names, name), append(v.items, member)
	}
	_, err := p.from.Token()
	return noEnd(err)
}

// same is equal for values that JSON Schema takes for one: 1 and 1.0 are, members have no order. It
// is short, whatever the value: a hash where need be.
func (v *value) same() string {
	if v.canonical != "" {
		return v.canonical
	}
	var parts []string
	switch v.kind {
	case list:
		for _, item := range v.items {
			parts = append(parts, item.same())
		}
	case object:
		for i, item := range v.items {
			name := value{kind: text, text: v.names[i]}
			parts = append(parts, name.same()+item.same())
		}
		slices.Sort(parts)
	case number:
		parts = []string{significant(v.text)}
	default:
		parts = []string{v.text}
	}
	if len(parts) == 1 && len(parts[0]) <= 2*sha256.Size && v.kind < list {
		v.canonical = string(rune(v.kind)) + parts[0]
		return v.canonical
	}
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = io.WriteString(sum, part)
	}
	v.canonical = string(sum.Sum([]byte{byte(v.kind + kinds)})) // which begins no short one
	return v.canonical
}

// significant writes a number as its digits without zeros around them, and an exponent.
func significant(spelled string) string {
	mantissa, after, _ := strings.Cut(strings.ToLower(spelled), "e")
	magnitude, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(magnitude, ".")
	exponent, err := strconv.Atoi(cmp.Or(after, "0"))
	if err != nil { // it is beyond what a machine's word holds
		return strings.ToLower(spelled)
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	if exponent += len(digits) - len(short); short == "" {
		return "0"
	}
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}

func equal(a, b *value) bool { return a.kind == b.kind && a.same() == b.same() }

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

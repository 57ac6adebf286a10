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
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lexeme"
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

// document is a schema with the names that its parts have.
type document struct {
	root  *value
	draft int // 4, 6, 7, 2019 or 2020
	named bool
	names *names // nil: no reference was followed yet
}

// names are what identifies the parts of a document.
type names struct {
	uris    map[string]int      // bases, each by a number
	texts   []string            // of the bases
	bases   map[*value]int      // of parts that have their own
	parts   map[int]*value      // by base
	anchors map[anchor]*value   // the first of each
	dynamic map[string][]*value // $dynamicAnchor
	outer   []*value            // those with $recursiveAnchor
}

// anchor is a name within a base.
type anchor struct {
	base int
	name string
}

// holders are words whose values are no schemas, in which an "$id" means nothing.
var holders = map[string]bool{"enum": true, "const": true, "default": true, "examples": true, "example": true}

func open(schema []byte, a *lexeme.Arena) (*document, error) {
	root, _, err := parse(schema, func() error { return a.Ask(8) })
	if err != nil {
		return nil, err
	}
	d := &document{root: root}
	d.draft, d.named = draftOf(root)
	return d, nil
}

// draftOf tells the draft that $schema names; without one, 2020-12 is meant, and older words are
// understood.
func draftOf(root *value) (int, bool) {
	v := root.member("$schema")
	if v == nil || v.kind != text {
		return 2020, false
	}
	for mark, draft := range map[string]int{"draft-03": 4, "draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019, "2020-12": 2020} {
		if strings.Contains(v.text, mark) {
			return draft, true
		}
	}
	return 2020, false
}

// naming is the document's names.
func (r *reader) naming() (*names, error) {
	d := r.document
	if d.names == nil {
		d.names = &names{
			uris: map[string]int{"": 0}, texts: []string{""}, bases: map[*value]int{d.root: 0}, parts: map[int]*value{0: d.root},
			anchors: map[anchor]*value{}, dynamic: map[string][]*value{},
		}
		if err := r.nameParts(d.root, ""); err != nil {
			return nil, err
		}
	}
	return d.names, nil
}

// base is the number of a URI.
func (n *names) base(uri string) int {
	number, known := n.uris[uri]
	if !known {
		number = len(n.uris)
		n.uris[uri], n.texts = number, append(n.texts, uri)
	}
	return number
}

// nameParts registers what identifies the parts of a schema. Joining URIs counts as work.
func (r *reader) nameParts(v *value, base string) error {
	n := r.document.names
	if v.kind == object {
		var err error
		if base, err = r.identify(v, base); err != nil {
			return err
		}
		if mark := v.member("$recursiveAnchor"); mark != nil && mark.yes() {
			n.outer = append(n.outer, v)
		}
		for _, word := range []string{"$anchor", "$dynamicAnchor"} {
			to := v.member(word)
			if to == nil || to.kind != text {
				continue
			}
			n.name(anchor{n.base(base), to.text}, v)
			if word == "$dynamicAnchor" {
				n.dynamic[to.text] = append(n.dynamic[to.text], v)
			}
		}
	}
	for i, item := range v.items {
		if v.kind == object && holders[v.names[i]] && item.kind != object {
			continue
		}
		if v.kind == object && (v.names[i] == "enum" || v.names[i] == "const") && (v.parent == nil || v.step != "properties") {
			continue
		}
		if err := r.nameParts(item, base); err != nil {
			return err
		}
	}
	return nil
}

func (n *names) name(a anchor, v *value) {
	if _, taken := n.anchors[a]; !taken {
		n.anchors[a] = v
	}
}

// identify returns the URI against which references within v resolve.
func (r *reader) identify(v *value, base string) (string, error) {
	d, n := r.document, r.document.names
	id, rebase := v.member("$id"), true
	if id == nil || id.kind != text {
		id, rebase = v.member("id"), d.draft == 4
	}
	if id == nil || id.kind != text {
		return base, nil
	}
	if name, is := strings.CutPrefix(id.text, "#"); is {
		n.anchors[anchor{n.base(base), name}] = v
		return base, nil
	}
	if d.named && d.draft <= 7 && v.member("$ref") != nil {
		return base, nil
	}
	uri, err := r.join(v, base, id.text)
	if err != nil {
		return "", err
	}
	number := n.base(uri)
	if _, taken := n.parts[number]; !taken {
		n.parts[number] = v
	}
	if !rebase {
		return base, nil
	}
	n.bases[v] = number
	return uri, nil
}

// urlBytesPerStep is how many bytes of a URI are read and written in the time of a step.
const urlBytesPerStep = 64

// join resolves a reference against a base.
func (r *reader) join(at *value, base, ref string) (string, error) {
	if err := r.step(at, 1+(len(base)+len(ref))/urlBytesPerStep); err != nil {
		return "", err
	}
	uri := ref
	if b, err := url.Parse(base); err == nil {
		if u, err := b.Parse(ref); err == nil {
			uri = u.String()
		}
	}
	return strings.TrimSuffix(uri, "#"), nil
}

// baseOf is the nearest part around v that has its own URI.
func (n *names) baseOf(v *value) (part *value, base int) {
	for ; v.parent != nil; v = v.parent {
		if base, has := n.bases[v]; has {
			return v, base
		}
	}
	return v, n.bases[v]
}

// follow returns what a reference refers to.
func (r *reader) follow(ref *value) (*value, error) {
	if to := r.references[ref]; to != nil {
		return to, nil
	}
	to, err := r.find(ref)
	if err == nil {
		r.references[ref] = to
	}
	return to, err
}

// find looks for what a reference refers to.
func (r *reader) find(ref *value) (*value, error) {
	if ref.kind != text {
		return nil, wrong(ref, "a reference must be a string")
	}
	if err := r.step(ref, len(ref.text)/urlBytesPerStep); err != nil {
		return nil, err
	}
	n, err := r.naming()
	if err != nil {
		return nil, err
	}
	part, base := n.baseOf(ref)
	where, fragment, _ := strings.Cut(ref.text, "#")
	if where != "" {
		uri, err := r.join(ref, n.texts[base], where)
		if err != nil {
			return nil, err
		}
		number, known := n.uris[uri]
		if part = n.parts[number]; !known || part == nil {
			return nil, tooHard(ref, "%q is another document; only references within the schema are followed", ref.text)
		}
		base = number
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment == "" {
		return part, nil
	}
	if !strings.HasPrefix(fragment, "/") {
		if to := n.anchors[anchor{base, fragment}]; to != nil {
			return to, nil
		}
		return nil, wrong(ref, "nothing in the schema is named %q", ref.text)
	}
	if to := walk(part, fragment); to != nil {
		return to, nil
	}
	// Many write "id" without meaning a new base.
	if to := walk(r.document.root, fragment); to != nil && where == "" {
		return to, nil
	}
	return nil, wrong(ref, "%q leads to nothing in the schema", ref.text)
}

// walk follows a JSON pointer; nil where it leads nowhere.
func walk(v *value, pointer string) *value {
	for step := range strings.SplitSeq(pointer[1:], "/") {
		if strings.Contains(step, "~") {
			step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		}
		if v.kind == list {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
		} else if v = v.member(step); v == nil {
			return nil
		}
	}
	return v
}

// followDynamic returns what $dynamicRef or $recursiveRef refers to where only one part can be
// meant.
func (r *reader) followDynamic(ref *value) (*value, error) {
	to, err := r.follow(ref)
	if err != nil {
		return nil, err
	}
	if mark := to.member("$recursiveAnchor"); ref.step == "$recursiveRef" && mark != nil && mark.yes() && len(r.document.names.outer) > 1 {
		return nil, wrong(ref, "it may be one of %d parts, as the way to it decides", len(r.document.names.outer))
	}
	anchor := to.member("$dynamicAnchor")
	if ref.step == "$recursiveRef" || anchor == nil || !refersTo(ref.text, anchor.text) {
		return to, nil // as $ref
	}
	if all := r.document.names.dynamic[anchor.text]; len(all) > 1 {
		return nil, tooHard(ref, "%q may be one of %d parts, as the way to it decides", ref.text, len(all))
	}
	return to, nil
}

// refersTo reports whether a reference ends in # and a name.
func refersTo(ref, name string) bool {
	before, is := strings.CutSuffix(ref, name)
	return is && strings.HasSuffix(before, "#")
}

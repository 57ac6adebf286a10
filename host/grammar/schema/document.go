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

// Bounds of a document.
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

// value is a JSON value of the document. It knows its place. Members keep their order.
type value struct {
	kind   kind
	text   string   // of a string; of a number or a boolean as it is written
	names  []string // of an object's members
	items  []*value // of a list, or of the members
	index  map[string]int
	parent *value
	step   string // of a JSON pointer, from the parent
	id     int
	weight int // bytes of its text, its names, and its items' texts

	canonical string // see canonicalKey; "": not computed
}

// member returns a member of an object, nil where it has none or v is not an object.
func (v *value) member(name string) *value {
	if v.kind != object {
		return nil
	}
	if i, has := v.index[name]; has {
		return v.items[i]
	}
	return nil
}

func (v *value) isTrue() bool { return v.kind == boolean && v.text == "true" }

// Bounds of a pointer in a message, in bytes: of a step, and of all of it.
const (
	maxStep    = 80
	maxPointer = 240
)

var escapeStep = strings.NewReplacer("~", "~0", "/", "~1").Replace

// pointer returns the place as a URI fragment. A long one is cut at its beginning.
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
	stop  func() error // called before each value; an error that it returns ends the work
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
		return nil, unexpectedEnd(err)
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

// unexpectedEnd turns io.EOF into the error that it is within a document.
func unexpectedEnd(err error) error {
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
	return unexpectedEnd(err)
}

func (p *parser) object(v *value, depth int) error {
	for p.from.More() {
		token, err := p.from.Token()
		if err != nil {
			return unexpectedEnd(err)
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
	return unexpectedEnd(err)
}

// canonicalKey is equal for values that are equal in JSON Schema: 1 and 1.0, and objects whose
// members differ in order. It is short whatever the value, a hash if need be.
func (v *value) canonicalKey() string {
	if v.canonical != "" {
		return v.canonical
	}
	var parts []string
	switch v.kind {
	case list:
		for _, item := range v.items {
			parts = append(parts, item.canonicalKey())
		}
	case object:
		for i, item := range v.items {
			name := value{kind: text, text: v.names[i]}
			parts = append(parts, name.canonicalKey()+item.canonicalKey())
		}
		slices.Sort(parts)
	case number:
		parts = []string{canonicalNumber(v.text)}
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
	v.canonical = string(sum.Sum([]byte{byte(v.kind + kinds)})) // no short key begins with this byte
	return v.canonical
}

// canonicalNumber writes a number as its digits without zeros around them, and an exponent.
func canonicalNumber(spelled string) string {
	mantissa, after, _ := strings.Cut(strings.ToLower(spelled), "e")
	magnitude, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(magnitude, ".")
	exponent, err := strconv.Atoi(cmp.Or(after, "0"))
	if err != nil { // it does not fit into an int
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

func equal(a, b *value) bool { return a.kind == b.kind && a.canonicalKey() == b.canonicalKey() }

// maxExponent bounds a number's exponent, since its digits are written out.
const maxExponent = 400

// parseRational returns nil for a number with too many digits.
func parseRational(s string) *big.Rat {
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

// document is a schema, with the names of its parts.
type document struct {
	root  *value
	draft int    // 4, 6, 7, 2019 or 2020
	named bool   // $schema names the draft
	names *names // nil: not collected yet
}

// names are the identifiers of a document's parts.
type names struct {
	uris    map[string]int      // the numbers of base URIs
	texts   []string            // the URIs, by number
	bases   map[*value]int      // of parts that have a base of their own
	parts   map[int]*value      // by base
	anchors map[anchor]*value   // the first part with each
	dynamic map[string][]*value // by $dynamicAnchor
	outer   []*value            // the parts with $recursiveAnchor
}

// anchor is a name within a base.
type anchor struct {
	base int
	name string
}

// holders are words whose values are not schemas, so that "$id" means nothing in them.
var holders = map[string]bool{"enum": true, "const": true, "default": true, "examples": true, "example": true}

func openDocument(schema []byte, a *lexeme.Arena) (*document, error) {
	root, _, err := parse(schema, func() error { return a.Ask(8) })
	if err != nil {
		return nil, err
	}
	d := &document{root: root}
	d.draft, d.named = draftOf(root)
	return d, nil
}

// draftOf returns the draft that $schema names. Without one it is 2020-12, and older words are
// understood too.
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

// findNames collects the document's names when they are first needed.
func (r *reader) findNames() (*names, error) {
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

// baseNumber returns the number of a URI.
func (n *names) baseNumber(uri string) int {
	number, known := n.uris[uri]
	if !known {
		number = len(n.uris)
		n.uris[uri], n.texts = number, append(n.texts, uri)
	}
	return number
}

// nameParts collects the names of a schema's parts. Joining URIs counts as work.
func (r *reader) nameParts(v *value, base string) error {
	n := r.document.names
	if v.kind == object {
		var err error
		if base, err = r.identify(v, base); err != nil {
			return err
		}
		if mark := v.member("$recursiveAnchor"); mark != nil && mark.isTrue() {
			n.outer = append(n.outer, v)
		}
		for _, word := range []string{"$anchor", "$dynamicAnchor"} {
			to := v.member(word)
			if to == nil || to.kind != text {
				continue
			}
			a := anchor{n.baseNumber(base), to.text}
			if _, taken := n.anchors[a]; !taken {
				n.anchors[a] = v
			}
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

// identify collects the URI of v, and returns the one against which references within it are
// resolved.
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
		n.anchors[anchor{n.baseNumber(base), name}] = v
		return base, nil
	}
	if d.named && d.draft <= 7 && v.member("$ref") != nil {
		return base, nil
	}
	uri, err := r.resolveURI(v, base, id.text)
	if err != nil {
		return "", err
	}
	number := n.baseNumber(uri)
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

// resolveURI resolves a URI reference against a base.
func (r *reader) resolveURI(at *value, base, ref string) (string, error) {
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

// baseOf returns the nearest part around v that has a URI of its own.
func (n *names) baseOf(v *value) (part *value, base int) {
	for ; v.parent != nil; v = v.parent {
		if base, has := n.bases[v]; has {
			return v, base
		}
	}
	return v, n.bases[v]
}

// resolve returns what a reference refers to.
func (r *reader) resolve(ref *value) (*value, error) {
	if to := r.references[ref]; to != nil {
		return to, nil
	}
	to, err := r.findReferenced(ref)
	if err == nil {
		r.references[ref] = to
	}
	return to, err
}

// findReferenced is resolve for a reference that was not resolved yet.
func (r *reader) findReferenced(ref *value) (*value, error) {
	if ref.kind != text {
		return nil, wrong(ref, "a reference must be a string")
	}
	if err := r.step(ref, len(ref.text)/urlBytesPerStep); err != nil {
		return nil, err
	}
	n, err := r.findNames()
	if err != nil {
		return nil, err
	}
	part, base := n.baseOf(ref)
	where, fragment, _ := strings.Cut(ref.text, "#")
	if where != "" {
		uri, err := r.resolveURI(ref, n.texts[base], where)
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
	if to := walkPointer(part, fragment); to != nil {
		return to, nil
	}
	// Many schemas have an "id" that is not meant as a new base.
	if to := walkPointer(r.document.root, fragment); to != nil && where == "" {
		return to, nil
	}
	return nil, wrong(ref, "%q leads to nothing in the schema", ref.text)
}

// walkPointer follows a JSON pointer, and returns nil where it leads nowhere.
func walkPointer(v *value, pointer string) *value {
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

// resolveDynamic returns what $dynamicRef or $recursiveRef refers to, where only one part can be
// meant.
func (r *reader) resolveDynamic(ref *value) (*value, error) {
	to, err := r.resolve(ref)
	if err != nil {
		return nil, err
	}
	if mark := to.member("$recursiveAnchor"); ref.step == "$recursiveRef" && mark != nil && mark.isTrue() && len(r.document.names.outer) > 1 {
		return nil, wrong(ref, "it may be one of %d parts, as the way to it decides", len(r.document.names.outer))
	}
	anchor := to.member("$dynamicAnchor")
	if ref.step == "$recursiveRef" || anchor == nil || !strings.HasSuffix(ref.text, "#"+anchor.text) {
		return to, nil // as $ref
	}
	if all := r.document.names.dynamic[anchor.text]; len(all) > 1 {
		return nil, tooHard(ref, "%q may be one of %d parts, as the way to it decides", ref.text, len(all))
	}
	return to, nil
}

// SPDX-License-Identifier: MIT

package schema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

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

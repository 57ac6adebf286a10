// SPDX-License-Identifier: MIT

package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// document is a schema with the names that its parts have.
type document struct {
	root    *value
	draft   int // 4, 6, 7, 2019 or 2020
	named   bool
	bases   map[*value]string   // the URIs of parts that have their own
	parts   map[string]*value   // by URI
	anchors map[string]*value   // by URI, "#" and name
	dynamic map[string][]*value // $dynamicAnchor
	outer   []*value            // those with $recursiveAnchor
}

// holders are words whose values are no schemas, in which an "$id" means nothing.
var holders = map[string]bool{"enum": true, "const": true, "default": true, "examples": true, "example": true}

func open(schema []byte) (*document, error) {
	root, _, err := parse(schema)
	if err != nil {
		return nil, err
	}
	d := &document{
		root: root, bases: map[*value]string{root: ""}, parts: map[string]*value{"": root},
		anchors: map[string]*value{}, dynamic: map[string][]*value{},
	}
	d.draft, d.named = draftOf(root)
	d.name(root, "")
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

// name registers what identifies the parts of a schema.
func (d *document) name(v *value, base string) {
	if v.kind == object {
		base = d.identify(v, base)
		if mark := v.member("$recursiveAnchor"); mark != nil && mark.yes() {
			d.outer = append(d.outer, v)
		}
		for word, to := range map[string]*value{"$anchor": v.member("$anchor"), "$dynamicAnchor": v.member("$dynamicAnchor")} {
			if to == nil || to.kind != text {
				continue
			}
			if _, taken := d.anchors[base+"#"+to.text]; !taken {
				d.anchors[base+"#"+to.text] = v
			}
			if word == "$dynamicAnchor" {
				d.dynamic[to.text] = append(d.dynamic[to.text], v)
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
		d.name(item, base)
	}
}

// identify returns the URI against which references within v resolve.
func (d *document) identify(v *value, base string) string {
	id, rebase := v.member("$id"), true
	if id == nil || id.kind != text {
		id, rebase = v.member("id"), d.draft == 4
	}
	if id == nil || id.kind != text {
		return base
	}
	if strings.HasPrefix(id.text, "#") {
		d.anchors[base+id.text] = v
		return base
	}
	if d.named && d.draft <= 7 && v.member("$ref") != nil {
		return base
	}
	uri := strings.TrimSuffix(join(base, id.text), "#")
	if _, taken := d.parts[uri]; !taken {
		d.parts[uri] = v
	}
	if !rebase {
		return base
	}
	d.bases[v] = uri
	return uri
}

func join(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	u, err := b.Parse(ref)
	if err != nil {
		return ref
	}
	return u.String()
}

// baseOf is the nearest part around v that has its own URI.
func (d *document) baseOf(v *value) (*value, string) {
	for ; v.parent != nil; v = v.parent {
		if base, has := d.bases[v]; has {
			return v, base
		}
	}
	return v, d.bases[v]
}

// follow returns what a reference refers to.
func (r *reader) follow(ref *value) (*value, error) {
	if to := r.references[ref]; to != nil {
		return to, nil
	}
	to, err := r.document.follow(ref)
	if err == nil {
		r.references[ref] = to
	}
	return to, err
}

func (d *document) follow(ref *value) (*value, error) {
	if ref.kind != text {
		return nil, wrong(ref, "a reference must be a string")
	}
	part, base := d.baseOf(ref)
	where, fragment, _ := strings.Cut(ref.text, "#")
	if where != "" {
		base = strings.TrimSuffix(join(base, where), "#")
		if part = d.parts[base]; part == nil {
			return nil, tooHard(ref, "%q is another document; only references within the schema are followed", ref.text)
		}
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment == "" {
		return part, nil
	}
	if !strings.HasPrefix(fragment, "/") {
		if to := d.anchors[base+"#"+fragment]; to != nil {
			return to, nil
		}
		return nil, wrong(ref, "nothing in the schema is named %q", ref.text)
	}
	if to := walk(part, fragment); to != nil {
		return to, nil
	}
	// Many write "id" without meaning a new base.
	if to := walk(d.root, fragment); to != nil && where == "" {
		return to, nil
	}
	return nil, wrong(ref, "%q leads to nothing in the schema", ref.text)
}

// walk follows a JSON pointer; nil where it leads nowhere.
func walk(v *value, pointer string) *value {
	for _, step := range strings.Split(pointer, "/")[1:] {
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
	if mark := to.member("$recursiveAnchor"); ref.step == "$recursiveRef" && mark != nil && mark.yes() && len(r.document.outer) > 1 {
		return nil, wrong(ref, "it may be one of %d parts, as the way to it decides", len(r.document.outer))
	}
	anchor := to.member("$dynamicAnchor")
	if ref.step == "$recursiveRef" || anchor == nil || !strings.HasSuffix(ref.text, "#"+anchor.text) {
		return to, nil // as $ref
	}
	if all := r.document.dynamic[anchor.text]; len(all) > 1 {
		return nil, tooHard(ref, "%q may be one of %d parts, as the way to it decides", ref.text, len(all))
	}
	return to, nil
}

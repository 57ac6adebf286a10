// SPDX-License-Identifier: MIT

package jinja

import (
	"iter"
	"math"
	"math/big"
	"strconv"
	"strings"
)

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

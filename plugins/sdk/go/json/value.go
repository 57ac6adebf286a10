// SPDX-License-Identifier: MIT

// Package json reads the JSON that a plugin gets: its configuration and conversations. The standard
// library's encoding/json would make up most of a plugin's size; this package is small, and agrees
// with it on what is valid and what it means.
package json

import "math"

// Kind is the kind of a value.
type Kind uint8

// The kinds. Null also stands for a missing value.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Object
)

// Value is a JSON value. Its methods return a zero value if it is of another kind, so optional
// fields need no checks.
type Value struct {
	kind   Kind
	text   string  // of a Text
	number float64 // of a Number; 1 for true
	names  []string
	items  []Value // of a List, or of an Object beside names
}

// Kind is what the value is.
func (v Value) Kind() Kind { return v.kind }

// Text is a text; "" for all else.
func (v Value) Text() string { return v.text }

// Float is a number; 0 for all else.
func (v Value) Float() float64 {
	if v.kind != Number {
		return 0
	}
	return v.number
}

// Int is a number without its fraction, or the nearest number that an int can hold; 0 for all else.
func (v Value) Int() int {
	switch x := v.Float(); {
	case x >= math.MaxInt:
		return math.MaxInt
	case x <= math.MinInt:
		return math.MinInt
	default:
		return int(x)
	}
}

// Bool is true or false; false for all else.
func (v Value) Bool() bool { return v.kind == Bool && v.number != 0 }

// Len is the number of values in a list; 0 for all else.
func (v Value) Len() int {
	if v.kind != List {
		return 0
	}
	return len(v.items)
}

// At is the value at an index of a list, 0 ≤ i < Len.
func (v Value) At(i int) Value { return v.items[i] }

// Get is the value of an object's field; of a name that occurs several times, the last. It is Null
// if there is none.
func (v Value) Get(name string) Value {
	for i := len(v.names) - 1; i >= 0; i-- {
		if v.names[i] == name {
			return v.items[i]
		}
	}
	return Value{}
}

// Names are the names of an object's fields, in their order. They must not be changed.
func (v Value) Names() []string { return v.names }

// SPDX-License-Identifier: MIT

package schema

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/excerpt"
)

// Error says what is wrong with a schema, and where.
type Error struct {
	Pointer string // a JSON pointer, as #/properties/name; steps and all of it are cut where they are long
	Why     string

	// Unenforceable tells that the schema means something, which a grammar cannot hold.
	Unenforceable bool

	at    *value
	bound bool // it is about the work of reading, not about a word
}

func (e *Error) Error() string { return e.Pointer + ": " + e.Why }

// The bounds of what an error quotes, in bytes: a text of the schema, and all of the reason.
const (
	maxQuoted = 100
	maxWhy    = 500
)

// wrong is an error at a place.
func wrong(at *value, why string, args ...any) error { return newError(at, why, args) }

// tooHard is an error for a part of a schema that cannot be enforced.
func tooHard(at *value, why string, args ...any) *Error {
	e := newError(at, why, args)
	e.Unenforceable = true
	return e
}

func newError(at *value, why string, args []any) *Error {
	for i, arg := range args {
		if s, is := arg.(string); is {
			args[i] = excerpt.Of(s, maxQuoted)
		}
	}
	return &Error{Pointer: at.pointer(), Why: excerpt.Of(fmt.Sprintf(why, args...), maxWhy), at: at}
}

// cannot tells that a part of the schema is not enforceable: an error, or nil where it may be
// dropped.
func (r *reader) cannot(at *value, why string, args ...any) error {
	err := tooHard(at, why, args...)
	if r.o.Loose {
		r.relax(err)
		return nil
	}
	return err
}

// drop has an error be about a word that is dropped, where that may be. The word then says nothing.
func (r *reader) drop(err error) error {
	var bad *Error
	if !r.o.Loose || !errors.As(err, &bad) || bad.bound {
		return err
	}
	r.relax(bad)
	return nil
}

// relax lists what is dropped.
func (r *reader) relax(e *Error) {
	if r.loosened[e.at] {
		return
	}
	if r.loosened[e.at] = true; len(r.relaxed) < MaxRelaxed {
		r.relaxed = append(r.relaxed, Relaxed{Pointer: e.Pointer, Why: e.Why})
	}
}

// left is what was dropped.
func (r *reader) left() []Relaxed { return More(r.relaxed, len(r.loosened)-len(r.relaxed)) }

// More adds to parts that are not enforced how many there are besides.
func More(told []Relaxed, more int) []Relaxed {
	if more == 0 {
		return told
	}
	return append(told, Relaxed{Why: fmt.Sprintf("%d more places are not enforced", more), More: more})
}

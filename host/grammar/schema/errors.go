// SPDX-License-Identifier: MIT

package schema

import "fmt"

// Error says what is wrong with a schema, and where.
type Error struct {
	Pointer string // a JSON pointer, as #/properties/name
	Why     string

	// Unenforceable tells that the schema means something, which a grammar cannot hold.
	// Options.Loose leaves it out, but for what takes too much.
	Unenforceable bool
}

func (e *Error) Error() string { return e.Pointer + ": " + e.Why }

// wrong is an error at a place.
func wrong(at *value, why string, args ...any) error {
	return &Error{Pointer: at.pointer(), Why: fmt.Sprintf(why, args...)}
}

// tooHard is an error for a part of a schema that cannot be enforced.
func tooHard(at *value, why string, args ...any) *Error {
	return &Error{Pointer: at.pointer(), Why: fmt.Sprintf(why, args...), Unenforceable: true}
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

// relax lists what is dropped.
func (r *reader) relax(e *Error) {
	if !r.loosened[e.Pointer] {
		r.loosened[e.Pointer] = true
		r.relaxed = append(r.relaxed, Relaxed{Pointer: e.Pointer, Why: e.Why})
	}
}

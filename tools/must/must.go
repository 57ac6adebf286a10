// SPDX-License-Identifier: MIT

// Package must ends a test with the error of a step that it needs.
package must

import (
	"io"
	"testing"
)

// Get is what a step gives, as in must.Get(os.Open(name))(t).
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper()
			Do(t, err)
		}
		return v
	}
}

// Do is for a step that gives nothing, as in must.Do(t, f.Close()).
func Do(t testing.TB, err error) {
	if err != nil {
		t.Helper() // not before: it walks the stack, and some tests have a million steps
		t.Fatal(err)
	}
}

// Both is Get for a step that gives two things.
func Both[A, B any](a A, b B, err error) func(t testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		if err != nil {
			t.Helper()
			Do(t, err)
		}
		return a, b
	}
}

// Close closes something when the test ends.
func Close(t testing.TB, c io.Closer) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

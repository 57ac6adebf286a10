// SPDX-License-Identifier: MIT

// Package must ends a test with the error of a step that it needs.
package must

import "testing"

// Get is what a step gives, as in must.Get(os.Open(name))(t).
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Do is for a step that gives nothing, as in must.Do(t, f.Close()).
func Do(t testing.TB, err error) {
	if t.Helper(); err != nil {
		t.Fatal(err)
	}
}

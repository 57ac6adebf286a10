// SPDX-License-Identifier: MIT

//go:build !(tinygo.wasm || wasip1)

package penstock

import (
	"reflect"
	"strings"
)

// In a module of Go's own compiler this file would be in the way: what looks methods up by
// reflection makes the linker keep all methods of all types, which is 1.3 MB. TinyGo's reflect
// knows no methods. So wrong_guest.go knows the likeliest mistakes, and tests, which run natively,
// find all.

// callable has an interface for each method that the SDK calls.
var callable = [...]reflect.Type{
	reflect.TypeFor[Opener](), reflect.TypeFor[Warmer](), reflect.TypeFor[Planner](), reflect.TypeFor[Rewriter](), reflect.TypeFor[Renderer](), reflect.TypeFor[Preparer](),
	reflect.TypeFor[Sampler](), reflect.TypeFor[RowSampler](), reflect.TypeFor[Accepter](), reflect.TypeFor[Drafter](), reflect.TypeFor[Stopper](), reflect.TypeFor[Filterer](),
	reflect.TypeFor[Rewinder](), reflect.TypeFor[Closer](), reflect.TypeFor[Runner](),
}

// wrongMethod finds a method of the plugin's type that the SDK would not call although it seems
// meant to be: with the name of one that is called and other parameters, or nearly with the name.
func wrongMethod(value any) string {
	plugin := reflect.TypeOf(value)
	for _, face := range callable {
		if plugin.Implements(face) {
			continue
		}
		want := face.Method(0)
		for i := range plugin.NumMethod() {
			have := plugin.Method(i)
			switch {
			case have.Name == want.Name:
				text := reflect.ValueOf(value).Method(i).Type().String()
				return "the plugin's type has the method " + have.Name + " as a " + text + ", which nothing calls; it must be a " + want.Type.String()
			case near(have.Name, want.Name) && !isCalled(have.Name):
				return "the plugin's type has a method " + have.Name + ", which nothing calls; " + want.Name + " is the one that is called. Rename it"
			}
		}
	}
	return ""
}

// isCalled reports whether the SDK calls methods with a name.
func isCalled(name string) bool {
	for _, face := range callable {
		if face.Method(0).Name == name {
			return true
		}
	}
	return false
}

// near reports whether one name is the other with a letter too many, too few, wrong, or exchanged
// with the next one; small and capital letters are the same.
func near(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) < len(b) {
		a, b = b, a
	}
	for i := range len(b) {
		if a[i] != b[i] {
			a, b = a[i:], b[i:]
			return a[1:] == b || a[1:] == b[1:] || len(b) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
		}
	}
	return len(a)-len(b) <= 1
}

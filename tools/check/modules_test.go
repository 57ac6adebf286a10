// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t *testing.T, text string) goModule {
	t.Helper()
	var m goModule
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFindTestOnly(t *testing.T) {
	product := parsed(t, `{"Require":[{"Path":"example.com/a"},{"Path":"example.com/b"},{"Path":"example.com/c/v2"},
		{"Path":"example.com/d","Indirect":true},{"Path":"go.uber.org/goleak"}]}`)
	packages := []goPackage{{Imports: []string{"os", "example.com/a"}}, {Imports: []string{"example.com/c/v2/x", "example.com/bb"}}}
	want := []string{"go.mod: only tests import example.com/b: move them to tests"}
	if diff := cmp.Diff(want, findTestOnly(product, packages)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestFindOtherVersions(t *testing.T) {
	product := parsed(t, `{"Require":[{"Path":"example.com/a","Version":"v1.0.0"},{"Path":"example.com/b","Version":"v1.0.0"}]}`)
	tests := parsed(t, `{"Require":[{"Path":"example.com/a","Version":"v1.0.0"},{"Path":"example.com/b","Version":"v1.1.0"},{"Path":"example.com/c","Version":"v1.0.0"}]}`)
	want := []string{"tests/go.mod: example.com/b is v1.1.0, in go.mod it is v1.0.0"}
	if diff := cmp.Diff(want, findOtherVersions(product, tests)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

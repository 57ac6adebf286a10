// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestCheckImports(t *testing.T) {
	ours := func(path string) string { return module + "/" + path }
	for name, tc := range map[string]struct {
		may           string
		imports, deps []string
		want          []string
	}{
		"standard library":    {"—", []string{"time", "vendor/golang.org/x/text"}, []string{"github.com/x/y"}, nil},
		"indirectly, allowed": {"`stream` †", nil, []string{"C", "time", ours("stream")}, nil},
		"indirectly":          {"`stream` †", nil, []string{"github.com/x/y", ours("host")}, []string{"a must not import github.com/x/y", "a must not import host"}},
		"ours":                {"`native`, `scheduler`", []string{ours("native"), ours("scheduler")}, nil, nil},
		"ours, below":         {"`scheduler`", []string{ours("scheduler/chain")}, nil, []string{"a must not import scheduler/chain"}},
		"subtree":             {"`scheduler/...`", []string{ours("scheduler"), ours("scheduler/chain"), ours("schedulers")}, nil, []string{"a must not import schedulers"}},
		"module":              {"`github.com/x/y`", []string{"github.com/x/y", "github.com/x/y/v2/z"}, nil, nil},
		"another module":      {"`github.com/x/y`", []string{"github.com/x/yy"}, nil, []string{"a must not import github.com/x/yy"}},
		"all":                 {"all", []string{ours("host"), "github.com/x/y"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := checkImports(goPackage{ImportPath: ours("a"), Imports: tc.imports, Deps: tc.deps}, parseLimits(tc.may))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func parsed(t *testing.T, text string) goModule {
	t.Helper()
	var m goModule
	must.Do(t, json.Unmarshal([]byte(text), &m))
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

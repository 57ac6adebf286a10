// SPDX-License-Identifier: MIT

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindUnused(t *testing.T) {
	for name, tc := range map[string]struct {
		source string
		want   []string
	}{
		"used":             {"package a\nfunc F() {}\nfunc init() { F() }", nil},
		"unused":           {"package a\nfunc F() {}\nvar V int\nconst C = 1\ntype T struct{}", []string{"a.C", "a.F", "a.T", "a.V"}},
		"unexported":       {"package a\nfunc f() {}", nil},
		"by a receiver":    {"package a\ntype T struct{}\nfunc (t *T) m() {}", []string{"a.T"}},
		"method":           {"package a\ntype t struct{}\nvar _ = t{}\nfunc (t) M() {}", []string{"a.t.M"}},
		"exported's":       {"package a\ntype T struct{}\nfunc (T) M() {}\nfunc (T) N() {}\nfunc init() { T{}.M() }", []string{"a.T.N"}},
		"interface":        {"package a\ntype i interface{ M(int) }\ntype T struct{}\nvar _ = T{}\nfunc (*T) M(int) {}", nil},
		"no interface":     {"package a\ntype i interface{ M(int) }\ntype T struct{}\nvar _ = T{}\nfunc (*T) M(string) {}", []string{"a.T.M"}},
		"embedded":         {"package a\ntype i interface{ M() }\ntype T struct{}\nfunc (T) M() {}\ntype u struct{ T }\nvar _ i = u{}", nil},
		"error":            {"package a\ntype T struct{}\nvar _ = T{}\nfunc (T) Error() string { return \"\" }\nfunc (T) Unwrap() error { return nil }\nfunc (T) Is(error) bool { return false }", nil},
		"generic":          {"package a\ntype T[E any] struct{}\nvar _ = T[int]{}.M\nfunc (T[E]) M() {}\nfunc (T[E]) N() {}", []string{"a.T.N"}},
		"enumeration":      {"package a\ntype t int\nconst (\n\tA t = iota\n\tB\n)\nvar _ = A", nil},
		"idle enumeration": {"package a\ntype t int\nconst (\n\tA t = iota\n\tB\n)", []string{"a.A", "a.B"}},
		"of a test":        {"package atest\nfunc F() {}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range findUnused([]*typedPackage{typed(t, tc.source)}) {
				got = append(got, e.name())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportUnused_Exceptions(t *testing.T) {
	unused := findUnused([]*typedPackage{typed(t, "package a\nfunc F() {}\nfunc G() {}")})
	want := []string{"nothing but tests uses a.G (a.go:3)", "a.H needs no exception: it is used, or gone"}
	if diff := cmp.Diff(want, reportUnused(unused, map[string]string{"a.F": "why", "a.H": "why"})); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// typed checks a package of one file that imports nothing.
func typed(t *testing.T, source string) *typedPackage {
	t.Helper()
	p := &typedPackage{files: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	file, err := parser.ParseFile(p.files, "a.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p.syntax = []*ast.File{file}
	if p.types, err = new(types.Config).Check(module+"/a", p.files, p.syntax, p.info); err != nil {
		t.Fatal(err)
	}
	return p
}

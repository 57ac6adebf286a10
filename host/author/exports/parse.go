// SPDX-License-Identifier: MIT

package exports

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// plugin is the source of a plugin, or of another package that its type has methods from.
type plugin struct {
	root   string // the folder of the plugin
	folder string // of this package
	files  *token.FileSet
	syntax []*ast.File
	others map[string]*plugin // by their import paths; nil: one of Go's own
}

// toolchains are what builds plugins: TinyGo, which for its compiler runs on another machine, and
// Go itself.
var toolchains = []build.Context{
	{GOOS: "linux", GOARCH: "arm", Compiler: "gc", BuildTags: []string{"tinygo", "tinygo.wasm", "wasm_unknown"}, ReleaseTags: build.Default.ReleaseTags},
	{GOOS: "wasip1", GOARCH: "wasm", Compiler: "gc", ReleaseTags: build.Default.ReleaseTags},
}

// open reads the plugin in a folder.
func open(folder string) (*plugin, error) {
	p := &plugin{root: folder, folder: folder, files: token.NewFileSet(), others: map[string]*plugin{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	for _, file := range p.syntax {
		if file.Name.Name != "main" {
			return nil, p.finding(file.Name.Pos(), "the package is %s; a plugin is a package main", file.Name.Name)
		}
	}
	if len(p.syntax) == 0 {
		return nil, fmt.Errorf("%s has no Go files: name the folder of a plugin", folder)
	}
	return p, nil
}

// parse reads the files of the folder that a build for WebAssembly would take.
func (p *plugin) parse() error {
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == File {
			continue
		}
		if taken, err := built(p.folder, name); err != nil {
			return err
		} else if !taken {
			continue
		}
		file, err := parser.ParseFile(p.files, filepath.Join(p.folder, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.syntax = append(p.syntax, file)
	}
	return nil
}

func built(folder, name string) (bool, error) {
	for _, toolchain := range toolchains {
		if ok, err := toolchain.MatchFile(folder, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// registration is the plugin's call of penstock.Register.
type registration struct {
	at       token.Pos
	name     string // of the type
	declared *declared
	typeText string // the type with its arguments, if it is generic
	license  string // the first line of the file, where it says what licence the file has
}

// registration finds the one call.
func (p *plugin) registration() (registration, error) {
	var found []registration
	var findings []error
	for _, file := range p.syntax {
		sdk := imported(file)
		for _, declaration := range file.Decls {
			ast.Inspect(declaration, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !registers(call.Fun, sdk) {
					return true
				}
				r, err := p.read(call, declaration)
				if err != nil {
					findings = append(findings, err)
				}
				r.license = p.license(file)
				found = append(found, r)
				return true
			})
		}
	}
	if len(found) == 0 {
		return registration{}, p.finding(p.syntax[0].Package,
			"nothing registers the plugin: write `var _ = penstock.Register[T](penstock.Manifest{Name: \"…\"})` at package level, where T is its type")
	}
	for _, r := range found[1:] {
		findings = append(findings, p.finding(r.at, "a module is one plugin, and the one of %s is registered already; make this a plugin of its own", p.files.Position(found[0].at)))
	}
	return found[0], errors.Join(findings...)
}

// imported is the name that a file has for package penstock: "." where its names are the file's
// own, empty where it imports none.
func imported(file *ast.File) string {
	for _, i := range file.Imports {
		if i.Path.Value != `"`+SDK+`/penstock"` {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return "penstock"
	}
	return ""
}

// registers reports whether a called expression is penstock.Register, with its type or without.
func registers(called ast.Expr, sdk string) bool {
	switch e := called.(type) {
	case *ast.IndexExpr:
		return registers(e.X, sdk)
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && sdk != "" && x.Name == sdk && e.Sel.Name == "Register"
	case *ast.Ident:
		return sdk == "." && e.Name == "Register"
	}
	return false
}

// license is the first line of a file, where it is about its licence. The generated file has the
// same.
func (p *plugin) license(file *ast.File) string {
	const mark = "// SPDX-License-Identifier: "
	if len(file.Comments) > 0 {
		if first := file.Comments[0].List[0]; p.files.Position(first.Pos()).Line == 1 && strings.HasPrefix(first.Text, mark) {
			return first.Text + "\n\n"
		}
	}
	return ""
}

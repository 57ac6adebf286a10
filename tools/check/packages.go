// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/penstock/penstock"

// goPackage is what `go list -json` says about a package, as far as it matters here.
type goPackage struct {
	Dir, ImportPath, Name string
	Doc                   string // the first sentence of the package comment
	Imports, Deps         []string
	TestGoFiles           []string
}

// name is the package's path below the module. That of the module's root is the library's.
func (p goPackage) name() string {
	if p.ImportPath == module {
		return path.Base(module)
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// testsModule is the folder of the module of tests that need more libraries than the product does.
const testsModule = "tests"

// goPackages lists the packages of the module and of testsModule.
func goPackages() ([]goPackage, error) {
	product, err := packagesOf(".")
	if err != nil {
		return nil, err
	}
	tests, err := packagesOf(testsModule)
	return append(product, tests...), err
}

// packagesOf lists the packages of the module in a folder.
func packagesOf(folder string) ([]goPackage, error) {
	listing, err := exec.Command("go", "-C", folder, "list", "-json=Dir,ImportPath,Name,Doc,Imports,Deps,TestGoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", folder, err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(listing))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list in %s: %w", folder, err)
		}
		if p.Doc == "" {
			if p.Doc, err = testDoc(p); err != nil {
				return nil, err
			}
		}
		packages = append(packages, p)
	}
}

// testDoc is the first sentence of the package comment in test files, which go list does not read.
// A package that has only tests says there what it is for.
func testDoc(p goPackage) (string, error) {
	for _, name := range p.TestGoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", err
		}
		if f.Doc != nil {
			return new(doc.Package).Synopsis(f.Doc.Text()), nil
		}
	}
	return "", nil
}

// limits is what the code of a package, without its tests, may import besides the standard library.
type limits struct {
	all      bool
	patterns []string // paths below our module, PATH/... for a subtree, or the beginning of other modules' paths
	indirect bool     // the limit also holds for indirect imports
}

var quoted = regexp.MustCompile("`([^`]+)`")

// parseLimits reads the third column of the table of packages: "all" or the patterns in backticks;
// † at the end means that the limit also holds for indirect imports.
func parseLimits(cell string) limits {
	l := limits{all: cell == "all", indirect: strings.HasSuffix(cell, "†")}
	for _, pattern := range quoted.FindAllStringSubmatch(cell, -1) {
		l.patterns = append(l.patterns, pattern[1])
	}
	return l
}

func checkImports(p goPackage, l limits) []string {
	imports := p.Imports
	if l.indirect {
		imports = p.Deps
	}
	var findings []string
	for _, path := range imports {
		if !l.allow(path) {
			findings = append(findings, fmt.Sprintf("%s must not import %s", p.name(), strings.TrimPrefix(path, module+"/")))
		}
	}
	return findings
}

func (l limits) allow(path string) bool {
	if l.all || isStandard(path) {
		return true
	}
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.ContainsFunc(l.patterns, func(pattern string) bool { return within(pattern, ours) })
	}
	return slices.ContainsFunc(l.patterns, func(pattern string) bool { return !isStandard(pattern) && within(pattern+"/...", path) })
}

// isStandard tells the standard library from modules by the first part of a path, which has no dot.
// Patterns for our own packages look standard too.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// within reports whether name is pattern or, for PATH/..., PATH or below it.
func within(pattern, name string) bool {
	prefix, subtree := strings.CutSuffix(pattern, "/...")
	return name == prefix || subtree && strings.HasPrefix(name, prefix+"/")
}

// testLibraries are the modules that the product's go.mod requires for tests alone. Tests
// everywhere use them; what only some need is required by testsModule, and the tests that need it
// are there.
var testLibraries = []string{"github.com/google/go-cmp", "go.uber.org/goleak"}

// goModule is what `go mod edit -json` says of a go.mod.
type goModule struct {
	Require []struct {
		Path, Version string
		Indirect      bool
	}
}

// checkModules finds modules that the product's go.mod requires and only tests import, and those
// of which testsModule has another version: its tests would then run another program than the one
// that is built.
func checkModules() ([]string, error) {
	packages, err := packagesOf(".")
	if err != nil {
		return nil, err
	}
	product, err := readModule("go.mod")
	if err != nil {
		return nil, err
	}
	tests, err := readModule(testsModule + "/go.mod")
	if err != nil {
		return nil, err
	}
	return append(findTestOnly(product, packages), findOtherVersions(product, tests)...), nil
}

func readModule(path string) (goModule, error) {
	var m goModule
	text, err := exec.Command("go", "mod", "edit", "-json", path).Output()
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("go mod edit -json %s: %w", path, err)
	}
	return m, nil
}

// findTestOnly finds direct requirements that no package imports outside its tests.
func findTestOnly(product goModule, packages []goPackage) (findings []string) {
	for _, required := range product.Require {
		imports := func(p goPackage) bool {
			return slices.ContainsFunc(p.Imports, func(path string) bool { return within(required.Path+"/...", path) })
		}
		if !required.Indirect && !slices.Contains(testLibraries, required.Path) && !slices.ContainsFunc(packages, imports) {
			findings = append(findings, fmt.Sprintf("go.mod: only tests import %s: move them to %s", required.Path, testsModule))
		}
	}
	return findings
}

// findOtherVersions finds modules that the tests use in another version than the product.
func findOtherVersions(product, tests goModule) (findings []string) {
	versions := map[string]string{}
	for _, required := range product.Require {
		versions[required.Path] = required.Version
	}
	for _, required := range tests.Require {
		ours, shared := versions[required.Path]
		if shared && ours != required.Version && !strings.HasPrefix(required.Path, module) {
			findings = append(findings, fmt.Sprintf("%s/go.mod: %s is %s, in go.mod it is %s", testsModule, required.Path, required.Version, ours))
		}
	}
	return findings
}

// typedPackage is a type-checked package of the module, without its tests.
type typedPackage struct {
	files  *token.FileSet
	syntax []*ast.File
	types  *types.Package
	info   *types.Info
}

func (p *typedPackage) isTest() bool { return strings.HasSuffix(p.types.Name(), "test") }

// typeLoader type-checks the packages of the module from source, and reads all others from the
// compiler's export data.
type typeLoader struct {
	files   *token.FileSet
	exports map[string]string // other modules' packages: the files with their export data
	others  types.Importer
	ours    map[string]*types.Package
}

func loadTypes() ([]*typedPackage, error) {
	list := exec.Command("go", "list", "-deps", "-export", "-compiled", "-json=Dir,ImportPath,Export,CompiledGoFiles", "./...")
	list.Stderr = os.Stderr
	listing, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	l := &typeLoader{files: token.NewFileSet(), exports: map[string]string{}, ours: map[string]*types.Package{}}
	l.others = importer.ForCompiler(l.files, "gc", l.open)
	var packages []*typedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(listing))); ; { // each after what it imports
		var p struct {
			Dir, ImportPath, Export string
			CompiledGoFiles         []string // with what cgo wrote
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.ImportPath != module && !strings.HasPrefix(p.ImportPath, module+"/") {
			l.exports[p.ImportPath] = p.Export
			continue
		}
		typed, err := l.check(p.ImportPath, p.Dir, p.CompiledGoFiles)
		if err != nil {
			return nil, err
		}
		packages = append(packages, typed)
	}
}

func (l *typeLoader) check(path, dir string, names []string) (*typedPackage, error) {
	p := &typedPackage{files: l.files, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		file, err := parser.ParseFile(l.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.syntax = append(p.syntax, file)
	}
	config := types.Config{Importer: l}
	var err error
	if p.types, err = config.Check(path, l.files, p.syntax, p.info); err != nil {
		return nil, err
	}
	l.ours[path] = p.types
	return p, nil
}

// Import is types.Importer's.
func (l *typeLoader) Import(path string) (*types.Package, error) {
	if p := l.ours[path]; p != nil {
		return p, nil
	}
	return l.others.Import(path)
}

func (l *typeLoader) open(path string) (io.ReadCloser, error) {
	file := l.exports[path]
	if file == "" {
		return nil, fmt.Errorf("no export data of %s", path)
	}
	return os.Open(file)
}

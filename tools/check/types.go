// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

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

// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// system is one that packages are written for, as far as their files say.
type system struct{ os, processor string }

var (
	linux        = system{"linux", "amd64"}
	otherSystems = []system{{"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"freebsd", "amd64"}}
)

// checkSystems finds names that a package uses and does not declare on another system, as when a
// function was renamed in the file for Linux only. It needs neither the system nor a C compiler.
func checkSystems() ([]string, error) {
	packages, err := packagesOf(".")
	if err != nil {
		return nil, err
	}
	var findings []string
	for _, p := range packages {
		found, err := missingElsewhere(p.Dir)
		if err != nil {
			return nil, err
		}
		for _, finding := range found {
			findings = append(findings, p.name()+" uses "+finding)
		}
	}
	return findings, nil
}

// missingElsewhere lists what the package of a folder lacks on other systems.
func missingElsewhere(dir string) (findings []string, err error) {
	here, err := filesOn(linux, dir)
	if err != nil {
		return nil, err
	}
	for _, s := range otherSystems {
		there, err := filesOn(s, dir)
		if err != nil {
			return nil, err
		}
		if len(there) == 0 || slices.Equal(here, there) {
			continue
		}
		known, err := undeclared(dir, here) // what an import brings is not known, for one
		if err != nil {
			return nil, err
		}
		missing, err := undeclared(dir, there)
		if err != nil {
			return nil, err
		}
		for _, name := range missing {
			if !slices.Contains(known, name) {
				findings = append(findings, fmt.Sprintf("%s, which is not declared on %s/%s", name, s.os, s.processor))
			}
		}
	}
	return findings, nil
}

// filesOn lists the files that a package has on a system.
func filesOn(s system, dir string) ([]string, error) {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = s.os, s.processor, true
	p, err := context.ImportDir(dir, 0)
	if noGo := (*build.NoGoError)(nil); errors.As(err, &noGo) {
		return nil, nil
	}
	return slices.Concat(p.GoFiles, p.CgoFiles), err
}

// undeclared lists the names that files of a package use and do not declare.
func undeclared(dir string, names []string) (missing []string, err error) {
	files, syntax := token.NewFileSet(), []*ast.File(nil)
	for _, name := range names {
		file, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		syntax = append(syntax, file)
	}
	config := types.Config{Importer: emptyImports{}, FakeImportC: true, Error: func(err error) {
		if name, ok := strings.CutPrefix(err.(types.Error).Msg, "undefined: "); ok && !strings.Contains(name, ".") { //nolint:errorlint,forcetypeassert // go/types promises it
			missing = append(missing, name)
		}
	}}
	_, _ = config.Check(dir, files, syntax, nil) // its errors are those that were told
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// emptyImports imports packages of which nothing is known but the name.
type emptyImports struct{}

func (emptyImports) Import(importPath string) (*types.Package, error) {
	p := types.NewPackage(importPath, path.Base(importPath))
	p.MarkComplete()
	return p, nil
}

// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
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

// SPDX-License-Identifier: MIT

package main

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readGo reads the Go SDK's packages.
func readGo(folder string) (items []item, err error) {
	for _, name := range []string{"penstock", "grammar", "math32", "json"} {
		paths, err := filepath.Glob(filepath.Join(folder, name, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, text, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			f := goFile{source: name + "/" + strings.TrimSuffix(filepath.Base(path), ".go"), text: text, files: files}
			if name != "penstock" {
				f.prefix = name + "."
			}
			for _, d := range file.Decls {
				items = append(items, f.declared(d)...)
			}
		}
	}
	return items, nil
}

type goFile struct {
	source, prefix string
	text           []byte
	files          *token.FileSet
}

// declared are the items of a declaration.
func (f goFile) declared(d ast.Decl) (items []item) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		items = append(items, f.function(d))
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				items = append(items, f.kind(spec, d.Doc.Text())...)
			case *ast.ValueSpec:
				comment := spec.Doc.Text() + spec.Comment.Text()
				if comment == "" && !slices.ContainsFunc(d.Specs, explained) {
					comment = d.Doc.Text()
				}
				name := spec.Names[0].Name
				items = append(items, item{source: f.source, owner: name, name: name, signature: f.prefix + name, comment: comment, hidden: !ast.IsExported(name), value: ast.IsExported(name)})
			}
		}
	}
	return items
}

// explained reports whether a constant or a variable has a comment of its own.
func explained(spec ast.Spec) bool {
	v, ok := spec.(*ast.ValueSpec)
	return ok && v.Doc.Text()+v.Comment.Text() != ""
}

func (f goFile) function(d *ast.FuncDecl) item {
	i := item{source: f.source, owner: d.Name.Name, name: d.Name.Name, comment: d.Doc.Text(), hidden: !d.Name.IsExported()}
	if d.Body != nil {
		i.body = string(f.text[f.files.Position(d.Body.Pos()).Offset:f.files.Position(d.Body.End()).Offset])
	}
	if d.Recv != nil {
		receiver := d.Recv.List[0]
		i.owner = strings.TrimPrefix(f.print(receiver.Type), "*")
		i.name, i.hidden = i.owner+"."+i.name, i.hidden || !ast.IsExported(i.owner)
		if len(receiver.Names) > 0 {
			i.self = receiver.Names[0].Name
		}
	}
	i.signature = f.prefix + i.name + strings.TrimPrefix(f.print(d.Type), "func")
	return i
}

// kind are a type and its fields; of an interface the methods, which the host calls.
func (f goFile) kind(spec *ast.TypeSpec, comment string) (items []item) {
	name := spec.Name.Name
	if !spec.Name.IsExported() {
		return nil
	}
	var fields *ast.FieldList
	called := false
	switch t := spec.Type.(type) {
	case *ast.InterfaceType:
		fields, called = t.Methods, true
	case *ast.StructType:
		fields = t.Fields
	}
	if !called {
		items = append(items, item{source: f.source, owner: name, name: name, signature: "type " + f.prefix + name, comment: comment})
	}
	if fields == nil {
		return items
	}
	for _, field := range fields.List {
		for _, n := range field.Names {
			i := item{source: f.source, owner: name, name: name + "." + n.Name, comment: field.Doc.Text() + field.Comment.Text(), hidden: !n.IsExported(), called: called, value: !called && n.IsExported()}
			if i.signature = f.prefix + i.name + " " + f.print(field.Type); called {
				i.comment = comment + several + i.comment
				i.signature = n.Name + strings.TrimPrefix(f.print(field.Type), "func")
			}
			items = append(items, i)
		}
	}
	return items
}

func (f goFile) print(node any) string {
	var b strings.Builder
	if err := format.Node(&b, f.files, node); err != nil {
		panic(err) // it was parsed
	}
	return b.String()
}

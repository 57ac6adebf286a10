// SPDX-License-Identifier: MIT

package exports

import (
	"go/ast"
	"go/token"
	"path"
)

// declared is the declaration of a type.
type declared struct {
	in   *plugin
	file *ast.File
	spec *ast.TypeSpec
}

// declaration is that of a type of this package; nil where there is none.
func (p *plugin) declaration(name string) *declared {
	for _, file := range p.syntax {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
					return &declared{p, file, t}
				}
			}
		}
	}
	return nil
}

// base is a type without * and type arguments.
func base(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.IndexListExpr:
		return base(e.X)
	}
	return e
}

// named is the declaration of a type that the one of t names; nil where it names none, or one of
// Go's own.
func (t *declared) named(e ast.Expr) (*declared, error) {
	switch e := base(e).(type) {
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return t.imported(x.Name, e.Sel.Name, e.Pos())
		}
	case *ast.Ident:
		if here := t.in.declaration(e.Name); here != nil || !ast.IsExported(e.Name) {
			return here, nil
		}
		return t.imported(".", e.Name, e.Pos())
	}
	return nil, nil
}

// imported is the declaration of a type of a package that the file of t imports by a name.
func (t *declared) imported(by, name string, at token.Pos) (*declared, error) {
	for _, i := range importsBy(by, t.file) {
		other, err := t.in.other(i.path, at)
		switch {
		case err != nil:
			return nil, err
		case other != nil && (i.known || other.syntax[0].Name.Name == by):
			if found := other.declaration(name); found != nil {
				return found, nil
			}
		case other == nil && path.Base(i.path) == by:
			return nil, nil
		}
	}
	return nil, nil
}

// methods adds those whose receiver is the type, or which it has as an interface.
func (t *declared) methods(to map[string]*ast.Ident) error {
	add := func(name *ast.Ident) {
		if t.in.folder == t.in.root || isPoint(name.Name) {
			to[name.Name] = name
		}
	}
	for _, file := range t.in.syntax {
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List) != 1 {
				continue
			}
			if receiver, ok := base(f.Recv.List[0].Type).(*ast.Ident); ok && receiver.Name == t.spec.Name.Name {
				add(f.Name)
			}
		}
	}
	_, is, err := t.underlying()
	if face, ok := is.(*ast.InterfaceType); ok {
		for _, method := range face.Methods.List {
			for _, name := range method.Names {
				add(name)
			}
		}
	}
	return err
}

// embedded are the types that a type embeds, or is another name of.
func (t *declared) embedded() (all []*declared, _ error) {
	of, is, err := t.underlying()
	if err != nil {
		return nil, err
	}
	add := func(by *declared, e ast.Expr) error {
		named, err := by.named(e)
		if named != nil {
			all = append(all, named)
		}
		return err
	}
	var fields []*ast.Field
	switch is := is.(type) {
	case *ast.StructType:
		fields = is.Fields.List
	case *ast.InterfaceType:
		fields = is.Methods.List
	}
	for _, field := range fields {
		if len(field.Names) == 0 {
			if err := add(of, field.Type); err != nil {
				return nil, err
			}
		}
	}
	if t.spec.Assign.IsValid() {
		return all, add(t, t.spec.Type)
	}
	return all, nil
}

// underlying is what a type is declared as, and by which declaration: of `type a b` that of b,
// which has b's fields and not b's methods.
func (t *declared) underlying() (*declared, ast.Expr, error) {
	for range 1000 { // declarations that go round in circles are the compiler's to refuse
		of, err := t.named(t.spec.Type)
		if of == nil || err != nil {
			return t, t.spec.Type, err
		}
		t = of
	}
	return t, nil, nil
}

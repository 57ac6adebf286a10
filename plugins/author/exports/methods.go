// SPDX-License-Identifier: MIT

package exports

import (
	"go/ast"
	"go/types"
)

// read looks at one call of Register, which stands in a declaration.
func (p *plugin) read(call *ast.CallExpr, declaration ast.Decl) (registration, error) {
	r := registration{at: call.Pos()}
	if f, ok := declaration.(*ast.FuncDecl); ok && (f.Name.Name != "init" || f.Recv != nil) {
		return r, p.finding(r.at, "%s does not run before the host asks for the manifest: register at package level, with `var _ = penstock.Register[T](…)`, or in init", f.Name.Name)
	}
	index, ok := call.Fun.(*ast.IndexExpr)
	if !ok {
		return r, p.finding(r.at, "Register needs the plugin's type: penstock.Register[T](…)")
	}
	if star, ok := index.Index.(*ast.StarExpr); ok {
		return r, p.finding(r.at, "Register wants the type itself: penstock.Register[%s](…)", types.ExprString(star.X))
	}
	name := base(index.Index)
	r.typeText = types.ExprString(index.Index)
	if name == nil || p.typeOf(name.Name) == nil {
		return r, p.finding(r.at, "the type %s is not declared in this package; declare it here, and embed the other if it has the methods", r.typeText)
	}
	r.name = name.Name
	return r, nil
}

// base is the name of a type of this package, without * and type arguments; nil where it is no such type.
func base(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.IndexListExpr:
		return base(e.X)
	}
	return nil
}

// typeOf is the declaration of a type; nil where there is none.
func (p *plugin) typeOf(name string) *ast.TypeSpec {
	for _, file := range p.syntax {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
					return t
				}
			}
		}
	}
	return nil
}

// methods are the methods of a type by their names, with those of types of this package that it embeds. Of a name that occurs at
// several depths, the least deep counts, as in Go.
func (p *plugin) methods(name string) map[string]*ast.Ident {
	found := map[string]*ast.Ident{}
	seen := map[string]bool{name: true}
	for level := []string{name}; len(level) > 0; {
		var next []string
		here := map[string]*ast.Ident{}
		for _, name := range level {
			p.declared(name, here)
			for _, embedded := range p.embedded(name) {
				if !seen[embedded] {
					seen[embedded] = true
					next = append(next, embedded)
				}
			}
		}
		for name, at := range here {
			if found[name] == nil {
				found[name] = at
			}
		}
		level = next
	}
	return found
}

// declared adds the methods whose receiver is the type, or which it has as an interface.
func (p *plugin) declared(name string, to map[string]*ast.Ident) {
	for _, file := range p.syntax {
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List) != 1 {
				continue
			}
			if receiver := base(f.Recv.List[0].Type); receiver != nil && receiver.Name == name {
				to[f.Name.Name] = f.Name
			}
		}
	}
	if face, ok := p.underlying(name).(*ast.InterfaceType); ok {
		for _, method := range face.Methods.List {
			for _, n := range method.Names {
				to[n.Name] = n
			}
		}
	}
}

// embedded are the types of this package that a type embeds, or is another name of.
func (p *plugin) embedded(name string) (names []string) {
	fields := []*ast.Field{}
	switch t := p.underlying(name).(type) {
	case *ast.StructType:
		fields = t.Fields.List
	case *ast.InterfaceType:
		fields = t.Methods.List
	}
	if t := p.typeOf(name); t != nil && t.Assign.IsValid() {
		fields = append(fields, &ast.Field{Type: t.Type})
	}
	for _, field := range fields {
		if of := base(field.Type); len(field.Names) == 0 && of != nil && p.typeOf(of.Name) != nil {
			names = append(names, of.Name)
		}
	}
	return names
}

// underlying is what a type of this package is declared as: of `type a b` that of b, which has b's fields and not b's methods.
func (p *plugin) underlying(name string) ast.Expr {
	for range len(p.syntax) * 1000 { // declarations that go round in circles are the compiler's to refuse
		t := p.typeOf(name)
		if t == nil {
			return nil
		}
		of := base(t.Type)
		if of == nil {
			return t.Type
		}
		name = of.Name
	}
	return nil
}

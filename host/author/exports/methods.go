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
	r.typeText = types.ExprString(index.Index)
	if name, ok := base(index.Index).(*ast.Ident); ok {
		r.name, r.declared = name.Name, p.declaration(name.Name)
	}
	if r.declared == nil {
		return r, p.finding(r.at, "the type %s is not declared in this package; declare it here, and embed the other if it has the methods", r.typeText)
	}
	return r, nil
}

// methods are the methods of a type by their names, with those of the types that it embeds: of
// this package's all, of others' those that the SDK calls. Of a name that occurs at several
// depths, the least deep counts, as in Go.
func (p *plugin) methods(of *declared) (map[string]*ast.Ident, error) {
	found := map[string]*ast.Ident{}
	seen := map[*ast.TypeSpec]bool{of.spec: true}
	for level := []*declared{of}; len(level) > 0; {
		var next []*declared
		here := map[string]*ast.Ident{}
		for _, t := range level {
			all, err := t.embedded()
			if err != nil {
				return nil, err
			}
			if err := t.methods(here); err != nil {
				return nil, err
			}
			for _, embedded := range all {
				if !seen[embedded.spec] {
					seen[embedded.spec] = true
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
	return found, nil
}

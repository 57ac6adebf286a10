// SPDX-License-Identifier: MIT

package asm

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// Wasm is the module.
func (g *Guest) Wasm() []byte {
	var types, functions, codes, data, globals [][]byte
	addType := func(s abi.Signature) []byte {
		types = append(types, slices.Concat([]byte{0x60}, valueTypes(s.Params), valueTypes(s.Results)))
		return unsigned(uint64(len(types) - 1))
	}
	imports := g.imports(addType)
	for _, f := range g.Funcs {
		functions = append(functions, addType(f.Signature))
		body := slices.Concat([]byte{1}, unsigned(uint64(f.Locals)), []byte{0x7f}, f.Code, End)
		codes = append(codes, append(unsigned(uint64(len(body))), body...))
	}
	for range g.Globals {
		globals = append(globals, slices.Concat([]byte{0x7f, 1}, I32(0), End))
	}
	for _, d := range g.Data {
		data = append(data, slices.Concat([]byte{0}, I32(d.At), End, name(d.Text)))
	}
	m := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, types...), section(2, imports...), section(3, functions...))
	if g.Table > 0 {
		m = append(m, section(4, append([]byte{0x70, 0}, unsigned(uint64(g.Table))...))...)
	}
	m = slices.Concat(m, section(5, append([]byte{0}, unsigned(uint64(g.Pages))...)), section(6, globals...), section(7, g.exports()...))
	if i := slices.IndexFunc(g.Funcs, func(f Func) bool { return f.Name == g.Start }); g.Start != "" && i >= 0 {
		body := unsigned(uint64(len(g.Imports) + i))
		m = slices.Concat(m, []byte{8}, unsigned(uint64(len(body))), body)
	}
	return slices.Concat(m, section(10, codes...), section(11, data...))
}

func (g *Guest) imports(addType func(abi.Signature) []byte) (items [][]byte) {
	for _, s := range g.Imports {
		module, function, ok := strings.Cut(s.Name, ".")
		if !ok {
			module, function = abi.Module, s.Name
		}
		items = append(items, slices.Concat(name(module), name(function), []byte{0}, addType(s)))
	}
	return items
}

func (g *Guest) exports() (items [][]byte) {
	for i, f := range g.Funcs {
		if f.Name != "" && f.Name != g.Omit {
			items = append(items, slices.Concat(name(f.Name), []byte{0}, unsigned(uint64(len(g.Imports)+i))))
		}
	}
	if g.Omit != "memory" {
		items = append(items, slices.Concat(name("memory"), []byte{2, 0}))
	}
	return items
}

func valueTypes(names []abi.Type) []byte {
	b := unsigned(uint64(len(names)))
	for _, n := range names {
		b = append(b, map[abi.Type]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c}[n])
	}
	return b
}

func name(s string) []byte { return append(unsigned(uint64(len(s))), s...) }

func section(id byte, items ...[]byte) []byte {
	body := append(unsigned(uint64(len(items))), slices.Concat(items...)...)
	return slices.Concat([]byte{id}, unsigned(uint64(len(body))), body)
}

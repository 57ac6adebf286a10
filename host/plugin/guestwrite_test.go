// SPDX-License-Identifier: MIT

package plugin

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

var valueType = map[string]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c}

func functionType(s abi.Signature) []byte {
	list := func(names []string) []byte {
		b := leb(uint64(len(names)))
		for _, n := range names {
			b = append(b, valueType[n])
		}
		return b
	}
	return slices.Concat([]byte{0x60}, list(s.Params), list(s.Results))
}

// wasm is the module.
func (g *guestModule) wasm() []byte {
	var types, imports, functions, globals, exports, codes, data [][]byte
	add := func(s abi.Signature) []byte {
		types = append(types, functionType(s))
		return leb(uint64(len(types) - 1))
	}
	for _, s := range g.imports {
		module, name, ok := strings.Cut(s.Name, ".")
		if !ok {
			module, name = abi.Module, s.Name
		}
		imports = append(imports, slices.Concat(text(module), text(name), []byte{0}, add(s)))
	}
	start := -1
	for i, f := range g.funcs {
		functions = append(functions, add(f.Signature))
		index := len(g.imports) + i
		if f.Name == g.start {
			start = index
		}
		if f.Name != "" && f.Name != g.omit {
			exports = append(exports, slices.Concat(text(f.Name), []byte{0}, leb(uint64(index))))
		}
		body := slices.Concat([]byte{1}, leb(uint64(f.locals)), []byte{0x7f}, f.code, end)
		codes = append(codes, append(leb(uint64(len(body))), body...))
	}
	if g.omit != "memory" {
		exports = append(exports, slices.Concat(text("memory"), []byte{2, 0}))
	}
	for range g.globals {
		globals = append(globals, []byte{0x7f, 1, 0x41, 0, 0x0b})
	}
	for _, d := range g.data {
		data = append(data, slices.Concat([]byte{0}, i32(d.at), end, text(d.text)))
	}
	m := []byte("\x00asm\x01\x00\x00\x00")
	m = slices.Concat(m, section(1, types...), section(2, imports...), section(3, functions...))
	if g.table {
		m = append(m, section(4, []byte{0x70, 0, 1})...)
	}
	m = slices.Concat(m, section(5, slices.Concat([]byte{0}, leb(uint64(g.pages)))), section(6, globals...), section(7, exports...))
	if start >= 0 {
		body := leb(uint64(start))
		m = slices.Concat(m, []byte{8}, leb(uint64(len(body))), body)
	}
	return slices.Concat(m, section(10, codes...), section(11, data...))
}

// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/penstock/penstock/plugins/abi/table"
)

const wasm32 = `target_arch = "wasm32"`

// rustAbsent ends a test that asks for what nothing answers.
const rustAbsent = `#[cold]
#[track_caller]
fn absent(name: &str) -> ! {
    panic!(
        "{} is called, and nothing answers it: open a session of penstock::testing first. \
         That has no model, no branches and no grammars: for these \
         write a case for ` + "`penstock plugin test`" + `, see docs/plugins/debugging.md#testing",
        name
    )
}

`

// renderRust renders the module: the constants, the imports as a Wasm build sees them, and what
// answers them in a native build.
func renderRust(t table.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//! The Rust face of plugin ABI v1: constants and raw imports.\n\n")
	writeRustConstants(&b, t)
	fmt.Fprintf(&b, "\n#[cfg(%s)]\npub use imports::*;\n#[cfg(not(%s))]\npub use native::*;\n", wasm32, wasm32)
	writeRustModule(&b, wasm32, "imports", "The imports, by the modules that they come from.", writeRustImports, t)
	writeRustModule(&b, "not("+wasm32+")", "native", "What answers the imports of a native build: tests run where there is no host.", writeRustNative, t)
	return b.Bytes(), nil
}

// writeRustModule renders a module within, for some builds.
func writeRustModule(b *bytes.Buffer, where, name, doc string, render func(*bytes.Buffer, table.Table), t table.Table) {
	fmt.Fprintf(b, "\n/// %s\n#[cfg(%s)]\nmod %s {\n", doc, where, name)
	var body bytes.Buffer
	render(&body, t)
	for line := range strings.Lines(strings.Trim(body.String(), "\n") + "\n") {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	b.WriteString("}\n")
}

// writeRustImports renders the imports as a Wasm build sees them.
func writeRustImports(b *bytes.Buffer, t table.Table) {
	for _, module := range []string{table.Module, table.Optional} {
		fmt.Fprintf(b, "\n#[link(wasm_import_module = %q)]\nextern \"C\" {\n", module)
		for _, f := range t.Imports {
			if moduleOf(f) == module {
				fmt.Fprintf(b, "%s    pub fn %s;\n", indentDoc(f.Doc), rustSignature(f))
			}
		}
		b.WriteString("}\n")
	}
}

func writeRustConstants(b *bytes.Buffer, t table.Table) {
	for _, k := range t.Buffers {
		fmt.Fprintf(b, "pub const BUFFER_%s: i32 = %d;\n", strings.ToUpper(k.Name), k.Kind)
	}
	for _, g := range t.Groups {
		fmt.Fprintf(b, "\n// %s: %s\n", g.Title, stripMarkdown(g.Doc))
		for _, c := range g.Constants {
			if c.Doc != "" {
				fmt.Fprintf(b, "/// %s\n", c.Doc)
			}
			fmt.Fprintf(b, "pub const %s: i32 = %d;\n", strings.ToUpper(g.Prefix+"_"+c.Name), c.Value)
		}
	}
	b.WriteString("\n// Features: what a host of v1 may lack; ask with the import feature.\n")
	for _, f := range t.Features {
		fmt.Fprintf(b, "/// %s\npub const FEATURE_%s: &str = %q;\n", f.Doc, strings.ToUpper(f.Name), f.Name)
	}
	b.WriteString("\n// Limits that a plugin can plan with.\n")
	for _, l := range t.Limits {
		fmt.Fprintf(b, "/// %s\npub const LIMIT_%s: i64 = %d;\n", l.Unit, strings.ToUpper(l.Name), l.Value)
	}
}

// writeRustNative renders the imports as a native build sees them, and the table of functions that
// answers them, one a thread, since cargo runs tests on several.
func writeRustNative(b *bytes.Buffer, t table.Table) {
	b.WriteString("extern crate std;\nuse std::cell::Cell;\n\n")
	b.WriteString("/// What answers the imports on this thread.\n#[derive(Clone, Copy)]\npub struct Host {\n")
	for _, f := range t.Imports {
		fmt.Fprintf(b, "    pub %s: unsafe fn(%s)%s,\n", f.Name, rustTypes(f), rustResult(f))
	}
	b.WriteString("}\n\n/// A host that has nothing, no feature either: every other import ends the test.\npub const ABSENT: Host = Host {\n")
	for _, f := range t.Imports {
		body := fmt.Sprintf("absent(%q)", f.Name)
		if f.Name == "feature" {
			body = "0" // the SDK asks it before it calls what a host may lack
		}
		fmt.Fprintf(b, "    %s: |%s| %s,\n", f.Name, strings.TrimSuffix(strings.Repeat("_, ", len(f.Params)), ", "), body)
	}
	b.WriteString("};\n\n" + rustAbsent + "std::thread_local! {\n    static HOST: Cell<Host> = const { Cell::new(ABSENT) };\n}\n\n")
	b.WriteString("/// Makes `host` answer the imports on this thread and returns what did before.\npub fn install(host: Host) -> Host {\n    HOST.with(|h| h.replace(host))\n}\n")
	for _, f := range t.Imports {
		fmt.Fprintf(b, "\n/// # Safety\n/// Pointers must be valid for what the import reads or writes.\npub unsafe fn %s {\n    (HOST.with(Cell::get).%s)(%s)\n}\n",
			rustSignature(f), f.Name, joinNames(f.Params))
	}
	fmt.Fprintf(b, "\n/// The names that the import feature knows.\npub const FEATURES: &[&str] = &[\n    %s,\n];\n", strings.Join(featureNames(t), ",\n    "))
	writeRustDraw(b)
}

func rustSignature(f table.Func) string {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name + ": " + rustType(p)
	}
	return f.Name + "(" + strings.Join(params, ", ") + ")" + rustResult(f)
}

func rustTypes(f table.Func) string {
	types := make([]string, len(f.Params))
	for i, p := range f.Params {
		types[i] = rustType(p)
	}
	return strings.Join(types, ", ")
}

func rustResult(f table.Func) string {
	if f.Result == "" {
		return ""
	}
	return " -> " + string(f.Result)
}

func rustType(v table.Value) string {
	switch v.Access {
	case table.Read, table.Keep:
		return "*const u8"
	case table.Write, table.Update:
		return "*mut u8"
	default:
		return string(v.Type)
	}
}

func indentDoc(doc string) string {
	return "    /// " + strings.ReplaceAll(strings.ReplaceAll(doc, "\n\n", "\n"), "\n", "\n    ///\n    /// ") + "\n"
}

// writeRustDraw is goDraw in Rust.
func writeRustDraw(b *bytes.Buffer) {
	g := table.Generator
	fmt.Fprintf(b, `
/// The result of the import random: a function of the seed, the plugin's place in the chain, the
/// position and the number of earlier draws at that position. See "Random numbers" in
/// docs/abi/v1.md.
pub fn draw(seed: u64, place: u64, position: u64, before: u64) -> u64 {
    [seed, place, position, before].iter().fold(0u64, |x, part| {
        let x = (x ^ part).wrapping_add(%#x);
        let x = (x ^ x >> %d).wrapping_mul(%#x);
        let x = (x ^ x >> %d).wrapping_mul(%#x);
        x ^ x >> %d
    })
}
`, g.Increment, g.Shifts[0], g.Multipliers[0], g.Shifts[1], g.Multipliers[1], g.Shifts[2])
}

// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/penstock/penstock/plugins/abi/table"
)

const wasm32 = `target_arch = "wasm32"`

// rustModule renders the module of what the others have. A native build has a table of functions
// in place of the imports.
func rustModule(table.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//! The Rust face of plugin ABI v1: constants and raw imports.\n\nmod constants;\n")
	for _, module := range []string{"features", "host", "imports", "native"} {
		where := "not(" + wasm32 + ")"
		if module == "imports" {
			where = wasm32
		}
		fmt.Fprintf(&b, "#[cfg(%s)]\nmod %s;\n", where, module)
	}
	b.WriteString("\npub use constants::*;\n")
	fmt.Fprintf(&b, "#[cfg(%s)]\npub use imports::*;\n#[cfg(not(%s))]\npub use {features::*, host::*, native::*};\n", wasm32, wasm32)
	return b.Bytes(), nil
}

// rustImports renders the imports as a Wasm build sees them.
func rustImports(t table.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//! The imports, by the modules that they come from.\n")
	for _, module := range []string{table.Module, table.Optional} {
		fmt.Fprintf(&b, "\n#[link(wasm_import_module = %q)]\nextern \"C\" {\n", module)
		for _, f := range t.Imports {
			if moduleOf(f) == module {
				fmt.Fprintf(&b, "%s    pub fn %s;\n", indented(f.Doc), rustSignature(f))
			}
		}
		b.WriteString("}\n")
	}
	return b.Bytes(), nil
}

func rustConstants(t table.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//! The numbers and names of the ABI.\n\n")
	for _, k := range t.Buffers {
		fmt.Fprintf(&b, "pub const BUFFER_%s: i32 = %d;\n", strings.ToUpper(k.Name), k.Kind)
	}
	for _, g := range t.Groups {
		fmt.Fprintf(&b, "\n// %s: %s\n", g.Title, plain(g.Doc))
		for _, c := range g.Constants {
			if c.Doc != "" {
				fmt.Fprintf(&b, "/// %s\n", c.Doc)
			}
			fmt.Fprintf(&b, "pub const %s: i32 = %d;\n", strings.ToUpper(g.Prefix+"_"+c.Name), c.Value)
		}
	}
	b.WriteString("\n// Features: what a host of v1 may lack; ask with the import feature.\n")
	for _, f := range t.Features {
		fmt.Fprintf(&b, "/// %s\npub const FEATURE_%s: &str = %q;\n", f.Doc, strings.ToUpper(f.Name), f.Name)
	}
	b.WriteString("\n// Limits that a plugin can plan with.\n")
	for _, l := range t.Limits {
		fmt.Fprintf(&b, "/// %s\npub const LIMIT_%s: i64 = %d;\n", l.Unit, strings.ToUpper(l.Name), l.Value)
	}
	return b.Bytes(), nil
}

// rustHost renders the table of functions that answers the imports natively, one a thread, since
// cargo runs tests on several.
func rustHost(t table.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//! What answers the imports of a native build: tests run where there is no host.\n\nextern crate std;\nuse std::cell::Cell;\n\n")
	b.WriteString("/// What answers the imports on this thread.\n#[derive(Clone, Copy)]\npub struct Host {\n")
	for _, f := range t.Imports {
		fmt.Fprintf(&b, "    pub %s: unsafe fn(%s)%s,\n", f.Name, rustTypes(f), rustResult(f))
	}
	b.WriteString("}\n\n/// A host that has nothing: every answer is 0 and nothing is written.\npub const ABSENT: Host = Host {\n")
	for _, f := range t.Imports {
		body := "{}"
		switch f.Result {
		case "":
		case table.F32:
			body = "0.0"
		default:
			body = "0"
		}
		fmt.Fprintf(&b, "    %s: |%s| %s,\n", f.Name, strings.TrimSuffix(strings.Repeat("_, ", len(f.Params)), ", "), body)
	}
	b.WriteString("};\n\nstd::thread_local! {\n    static HOST: Cell<Host> = const { Cell::new(ABSENT) };\n}\n\n")
	b.WriteString("/// Makes `host` answer the imports on this thread and returns what did before.\npub fn install(host: Host) -> Host {\n    HOST.with(|h| h.replace(host))\n}\n\n")
	b.WriteString("/// What answers the imports on this thread.\npub(super) fn installed() -> Host {\n    HOST.with(Cell::get)\n}\n")
	return b.Bytes(), nil
}

// rustNative renders the imports as a native build sees them.
func rustNative(t table.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//! The imports of a native build, which a table of functions answers.\n\nuse super::host::installed;\n")
	for _, f := range t.Imports {
		fmt.Fprintf(&b, "\n/// # Safety\n/// Pointers must be valid for what the import reads or writes.\npub unsafe fn %s {\n    (installed().%s)(%s)\n}\n",
			rustSignature(f), f.Name, names(f.Params))
	}
	return b.Bytes(), nil
}

// rustFeatures renders what the stand-in for the host answers by: the names it knows, and its
// random numbers.
func rustFeatures(t table.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//! What a stand-in for the host needs to answer as the host does.\n")
	fmt.Fprintf(&b, "\n/// The names that the import feature knows.\npub const FEATURES: &[&str] = &[\n    %s,\n];\n", strings.Join(features(t), ",\n    "))
	rustDraw(&b)
	return b.Bytes(), nil
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
	case table.Read:
		return "*const u8"
	case table.Write:
		return "*mut u8"
	default:
		return string(v.Type)
	}
}

func indented(doc string) string {
	return "    /// " + strings.ReplaceAll(strings.ReplaceAll(doc, "\n\n", "\n"), "\n", "\n    ///\n    /// ") + "\n"
}

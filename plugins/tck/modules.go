// SPDX-License-Identifier: MIT

package tck

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// manifestCases are manifests that a host must refuse, in words that name what is wrong.
func manifestCases() []Case {
	var cases []Case
	for i, m := range []struct{ text, words string }{
		{`hello`, "JSON"},
		{`{"name":"a"}{"name":"b"}`, "JSON"},
		{`[]`, "manifest"},
		{`{"version":"1"}`, "name"},
		{`{"name":"A"}`, "name"},
		{`{"name":"../a"}`, "name"},
		{`{"name":"` + strings.Repeat("a", abi.LimitNameBytes+1) + `"}`, "name"},
		{`{"name":"a","view":"all"}`, "view"},
		{`{"name":"a","view":"logits"}`, "view"}, // it exports no sample
		{`{"name":"a","candidates":0}`, "candidates"},
		{fmt.Sprintf(`{"name":"a","candidates":%d}`, abi.LimitCandidates+1), "candidates"},
		{`{"name":"a","hold":-1}`, "hold"},
		{fmt.Sprintf(`{"name":"a","hold":%d}`, abi.LimitHold+1), "hold"},
		{`{"name":"a","place":"middle"}`, "place"},
		{fmt.Sprintf(`{"name":"a","take_back":%d}`, abi.LimitTakeBack+1), "take_back"},
		{`{"name":"a","strict_mask":1}`, "strict_mask"},
		{`{"name":"a","optional":"penstock_draft"}`, "optional"},
		{`{"name":"a","config_schema":{"type":7}}`, "config_schema"},
		{`{"name":"a","config_schema":{"$ref":"https://example.org/schema"}}`, "config_schema"},
		{`{"name":"a","config_schema":` + strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 71), "config_schema"},
	} {
		d := &draft{Guest: asm.New(m.text), name: fmt.Sprintf("tck-manifest-%d", i+1)}
		cases = append(cases, refused("manifest "+shortened(m.text), d, m.words))
	}
	return cases
}

func shortened(text string) string {
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// moduleCases are modules that a host must refuse, most of them before any of their code runs.
func moduleCases() []Case {
	without := func(export string) *draft {
		d := newDraft("without-"+strings.Trim(export, "_"), "")
		d.Omit = export
		return d
	}
	typed := newDraft("wrong-type", "")
	typed.Function(abi.Signature{Name: abi.ExportSample, Params: []abi.Type{"i64"}, Results: []abi.Type{"i32"}}, 0, asm.I32(0))
	version := without(abi.ExportABIV1)
	version.name = "tck-version-2"
	version.Function(abi.Signature{Name: "penstock_abi_v2"}, 0)
	silent := newDraft("silent", "")
	silent.Funcs[1].Code = nil
	whole := newDraft("whole", "").open().Wasm()
	return []Case{
		refused("the version is exported", without(abi.ExportABIV1), abi.ExportABIV1),
		refused("another version is not this one", version, abi.ExportABIV1),
		refused("memory is exported", without("memory"), "memory"),
		refused("describe is exported", without(abi.ExportDescribe), abi.ExportDescribe),
		refused("exports have their types", typed, abi.ExportSample),
		refused("imports are known", imports("unknown-import", "penstock.open_file"), "penstock.open_file"),
		refused("a misspelt export is named, and the right one with it", exporting("misspelt", "", "penstock_sampel"), "penstock_sampel", abi.ExportSample),
		unchanged("an export that the manifest calls optional is left alone where the host does not know it",
			exporting("optional-export", `"optional":["penstock_telepathy"],`, "penstock_telepathy")),
		unchanged("a field of the manifest that the host does not know is ignored", newDraft("unknown-field", `"unheard_of":{"a":[1,2]},`)),
		unchanged("an optional import that the host lacks may be there", optional("optional-import", "penstock-optional.telepathy", false)),
		faulted("calling it is a fault", abi.ExportOpen, causeCall, optional("optional-call", "penstock-optional.telepathy", true)),
		unchanged("one that the host has is the same function", optional("optional-known", "penstock-optional.random", true, "i64")),
		refused("it has its type then", optional("optional-type", "penstock-optional.random", false, "f32"), "penstock-optional.random"),
		refused("modules of imports are known", imports("unknown-module", "env.abort"), "env"),
		refused("imports have their types", imports("import-type", "penstock.random", "i32"), "penstock.random"),
		refused("a manifest is emitted", silent, abi.ExportDescribe),
		refusedBytes("no-bytes", "nothing is no module", nil, "WebAssembly"),
		refusedBytes("text", "text is no module", []byte("#!/bin/sh\n"), "WebAssembly"),
		refusedBytes("component", "a component is no module", []byte("\x00asm\x0d\x00\x01\x00"), "component"),
		refusedBytes("cut-header", "a module is whole", whole[:12], "WebAssembly"),
		refusedBytes("cut-half", "a module is whole", whole[:len(whole)/2], "WebAssembly"),
		refusedBytes("cut-last", "a module is whole", whole[:len(whole)-1], "WebAssembly"),
		refusedBytes("and-more", "nothing follows a module", append(bytes.Clone(whole), 0x7f), "WebAssembly"),
	}
}

// exporting has an export that the ABI does not know.
func exporting(name, fields, export string) *draft {
	d := newDraft(name, fields)
	d.Function(abi.Signature{Name: export}, 0, asm.Unreachable)
	return d
}

// optional imports a function and may call it in open.
func optional(name, function string, calls bool, results ...abi.Type) *draft {
	d := newDraft(name, "")
	code := d.CallOf(abi.Signature{Name: function, Results: results})
	if !calls {
		return d
	}
	if len(results) > 0 {
		code = append(code, asm.Drop...)
	}
	return d.open(code)
}

// imports wants a function that a host does not have.
func imports(name, function string, params ...abi.Type) *draft {
	d := newDraft(name, "")
	d.CallOf(abi.Signature{Name: function, Params: params})
	return d
}

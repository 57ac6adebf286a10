// SPDX-License-Identifier: MIT

package tck

import (
	"bytes"
	"fmt"
	"slices"
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

// implementsCases are about modules that export more than they implement.
func implementsCases() []Case {
	lists := func(name, fields string, list ...string) *draft {
		return newDraft("implements-"+name, fmt.Sprintf(`%s"implements":%s,`, fields, quoted(list))).open().on(abi.ExportSample, asm.I32(abi.SampleEdited))
	}
	unlisted := lists("unlisted-misspelt", "")
	unlisted.Function(abi.Signature{Name: "penstock_telepathy"}, 0, asm.Unreachable)
	return []Case{
		unchanged("what implements does not list is not called, and no program, template or stop rule", trapsBut("implements-accept", abi.ExportAccept)),
		unchanged("an empty list implements nothing", trapsBut("implements-nothing")),
		unchanged("what is listed is called", listed()),
		unchanged("an export that is not listed need not be known", unlisted),
		unchanged("a name that is optional need not be known", lists("optional", `"optional":["penstock_telepathy"],`, "penstock_telepathy")),
		refused("what is listed is exported", lists("missing", "", abi.ExportStop), "implements", abi.ExportStop),
		refused("what is listed is known, and the right name is told", lists("misspelt", "", "penstock_sampel"), "implements", "penstock_sampel", abi.ExportSample),
		refused("a view needs sample", lists("view", `"view":"candidates",`, abi.ExportOpen), "view", abi.ExportSample),
		refused("a view needs open", lists("open", "", abi.ExportSample), "implements", abi.ExportOpen),
		refused("branches need run", lists("run", `"branches":2,`, abi.ExportOpen), "branches", abi.ExportRun),
		refused("implements is a list", newDraft("implements-text", `"implements":"penstock_sample",`), "implements"),
	}
}

func quoted(list []string) string {
	text := "["
	for i, name := range list {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%q", name)
	}
	return text + "]"
}

// trapsBut exports all that the ABI has, and traps in all that it does not implement.
func trapsBut(name string, implements ...string) *draft {
	d := newDraft(name, `"implements":`+quoted(implements)+",")
	for _, s := range abi.Exports {
		switch {
		case s.Name == abi.ExportABIV1 || s.Name == abi.ExportDescribe || s.Name == abi.ExportInitialize:
		case slices.Contains(implements, s.Name):
			d.on(s.Name, asm.I32(0))
		default:
			d.on(s.Name, asm.Unreachable)
		}
	}
	return d
}

// listed counts prepares in global 1 and samples in global 2, and wants the samples.
func listed() *draft {
	d := newDraft("implements-sample", `"view":"none","implements":`+quoted([]string{abi.ExportOpen, abi.ExportPrepare, abi.ExportSample})+",")
	d.open().on(abi.ExportPrepare, count(1), asm.I32(0))
	d.on(abi.ExportSample, count(2), d.equal("as many prepares as samples", asm.Global(1), asm.Global(2)), asm.I32(abi.SampleEdited))
	return d.on(abi.ExportAccept, asm.Unreachable)
}

// declineCases are about calls that a plugin declines for a request.
func declineCases() []Case {
	return []Case{
		unchanged("what is declined is not called in the request, and needs no buffer", declines("decline", abi.ExportPrepare, abi.ExportSample, abi.ExportAccept,
			abi.ExportStop, abi.ExportDraft, abi.ExportRewind, abi.ExportClose)),
		unchanged("what is not declined is called", declinesSample()),
		answered("without rewind a new instance takes the place of the old one, and declines anew", replaces("decline-replaces"), declinesRewind()),
		unchanged("messages that are declined stay as they are", declines("decline-messages", abi.ExportMessages)).in(Request{Chat: true}),
		unchanged("declining what is not implemented is harmless, and so is declining twice", declinesTwice()),
		unchanged("what a request cannot do without is not declined, nor anything outside open", refusesToDecline()),
		unchanged("neither is a program", declinesRun()),
	}
}

// decline is code that leaves the answer of decline.
func (d *draft) decline(export string) []byte { return d.say(export, abi.ImportDecline) }

// declines traps in all that it declines.
func declines(name string, exports ...string) *draft {
	d := newDraft(name, `"optional":`+quoted([]string{abi.ExportDraft, abi.ExportMessages})+",")
	var code [][]byte
	for _, e := range exports {
		code = append(code, d.is("declined: "+e, abi.DeclineOk, d.decline(e)))
		d.on(e, asm.Unreachable)
	}
	return d.open(code...)
}

func declinesSample() *draft {
	d := newDraft("decline-sample", "")
	d.open(d.is("declined", abi.DeclineOk, d.decline(abi.ExportSample))).on(abi.ExportSample, asm.Unreachable)
	d.on(abi.ExportPrepare, count(1), asm.I32(0))
	return d.on(abi.ExportAccept, count(2), d.equal("as many prepares as tokens", asm.Global(1), asm.Global(2)), asm.I32(0))
}

// declinesRewind is told all tokens again when some are taken back.
func declinesRewind() *draft {
	d := newDraft("decline-rewind", `"view":"none",`)
	d.open(d.is("declined", abi.DeclineOk, d.decline(abi.ExportRewind))).on(abi.ExportRewind, asm.Unreachable)
	return d.on(abi.ExportAccept, count(1), d.equal("it is told all tokens", asm.Global(1), d.generated()), asm.I32(0))
}

func declinesTwice() *draft {
	d := newDraft("decline-twice", `"view":"none",`)
	return d.open(d.is("not implemented", abi.DeclineOk, d.decline(abi.ExportStop)), d.is("once", abi.DeclineOk, d.decline(abi.ExportAccept)),
		d.is("twice", abi.DeclineOk, d.decline(abi.ExportAccept))).on(abi.ExportAccept, asm.Unreachable)
}

func refusesToDecline() *draft {
	d := newDraft("decline-refused", `"view":"none",`)
	refused := func(export string) []byte { return d.is("refused: "+export, abi.DeclineRefused, d.decline(export)) }
	d.open(refused(abi.ExportABIV1), refused(abi.ExportDescribe), refused(abi.ExportInitialize), refused(abi.ExportWarm), refused(abi.ExportOpen),
		refused(abi.ExportTemplate), refused(abi.ExportRun), refused("penstock_telepathy"), refused("sample"), refused(""))
	d.on(abi.ExportWarm, d.is("outside open", abi.DeclineRefused, d.decline(abi.ExportSample)), asm.I32(0))
	d.on(abi.ExportPrepare, d.is("outside open", abi.DeclineRefused, d.decline(abi.ExportSample)), asm.I32(0))
	return d.on(abi.ExportSample, asm.I32(abi.SampleEdited))
}

func declinesRun() *draft {
	d := newProgram("decline-run", 1)
	d.open(d.is("refused", abi.DeclineRefused, d.decline(abi.ExportRun)), d.is("what it does not have", abi.DeclineOk, d.decline(abi.ExportSample)))
	return d.runs(d.openPrompt(), d.greedy(MaxTokens))
}

// bufferCases are about bind.
func bufferCases() []Case {
	const memory = 4 << 16 // bytes of a draft
	type binding struct{ kind, ptr, size, want int }
	const ok, no = abi.BindOk, abi.BindRefused
	binds := func(name string, list ...binding) *draft {
		d := newDraft(name, "")
		var code [][]byte
		for _, b := range list {
			code = append(code, d.is("bind", b.want, d.call(abi.ImportBind, b.kind, b.ptr, b.size)))
		}
		return d.open(code...)
	}
	late := newDraft("bind-late", "")
	late.open().on(abi.ExportPrepare, late.is("bind in prepare", no, late.call(abi.ImportBind, abi.BufferText, atText, textSize)), asm.I32(0))
	return []Case{
		unchanged("a buffer is bound once", binds("bind-twice", binding{1, atView, 32, ok}, binding{1, atView + 64, 32, no})),
		unchanged("buffers do not overlap", binds("bind-overlap",
			binding{1, atView, 32, ok}, binding{4, atView + 28, 32, no}, binding{5, atView - 28, 32, no}, binding{5, atView, 32, no}, binding{6, atView + 32, 256, ok})),
		unchanged("kinds are known", binds("bind-kinds", binding{0, atView, 512, no}, binding{7, atView, 512, no}, binding{-1, atView, 512, no})),
		unchanged("buffers are aligned to 4", binds("bind-align", binding{1, atView + 2, 32, no}, binding{1, atView + 1, 32, no}, binding{1, atView + 4, 32, ok})),
		unchanged("buffers lie in memory", binds("bind-outside", binding{1, memory - 16, 32, no}, binding{1, -32, 32, no}, binding{1, -16, 32, no},
			binding{6, 0, -1, no}, binding{6, 4, -4, no}, binding{1, memory - 32, 32, ok})),
		unchanged("buffers have room for the least", binds("bind-small", binding{1, atView, 4, no}, binding{2, atView, 4, no}, binding{3, atView, 0, no},
			binding{4, atView, 8, no}, binding{5, atView, 4, no}, binding{6, atView, 255, no})),
		unchanged("bind belongs to open", late),
		faulted("a declared view must be bound", abi.ExportOpen, causeBuffer, newDraft("unbound-candidates", "").open().on(abi.ExportSample, asm.I32(-1))),
		faulted("so must the row", abi.ExportOpen, causeBuffer, newDraft("unbound-logits", `"view":"logits",`).open().on(abi.ExportSample, asm.I32(-1))),
		faulted("a stop rule needs a text buffer", abi.ExportOpen, causeBuffer, newDraft("unbound-text", "").open().on(abi.ExportStop, asm.I32(0))),
		unchanged("a bound buffer stays where it is when memory grows", growing()),
	}
}

// growing grows between and within calls. After the growth of sample, a ban of the best token in
// the old place must count.
func growing() *draft {
	d := newDraft("growing", "")
	more := slices.Concat(asm.I32(1), asm.GrowMemory, asm.Drop)
	d.open(d.bind(abi.BufferCandidates, abi.BufferSplice)).on(abi.ExportPrepare, more, asm.I32(0))
	d.on(abi.ExportSample, more, asm.I32(atView), asm.Load, asm.SetGlobal(picked), asm.I32(-1))
	return d.insists()
}

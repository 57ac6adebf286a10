// SPDX-License-Identifier: MIT

package tck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// Where drafts keep things. Masks and rows have room for vocabularies of half a million tokens.
const (
	atScratch = 4096
	atView    = 8192 // the best candidates: room for 256
	room      = 256
	viewSize  = 8 * room
	atLogit   = atView + 4*room
	atSplice  = 12288
	spliceCap = 4 // tokens
	atBias    = 13312
	biasCap   = 4 // entries
	atText    = 16384
	textSize  = 4096
	atNotes   = 24576
	atHistory = 65536 // room for 8192 tokens
	atMask    = 131072
	maskSize  = 65536
	atRow     = 1 << 20
	rowPages  = 64 // pages of memory that have room for a row
)

// The global in which a draft keeps the token it picked.
const picked = 0

// draft is a guest in the making that can check what it is told.
type draft struct {
	*asm.Guest
	name  string
	notes int // bytes of text at atNotes
}

// newDraft begins a plugin; fields are those of its manifest besides the name, each followed by a
// comma.
func newDraft(name, fields string) *draft {
	d := &draft{Guest: asm.New(fmt.Sprintf(`{%s"name":"tck-%s"}`, fields, name)), name: "tck-" + name}
	d.Globals = 4
	return d
}

// on adds an export and returns the draft.
func (d *draft) on(export string, code ...[]byte) *draft {
	d.On(export, code...)
	return d
}

// open adds an open that accepts the request after code.
func (d *draft) open(code ...[]byte) *draft { return d.on(abi.ExportOpen, append(code, asm.I32(0))...) }

// note puts text into memory and returns its address and length.
func (d *draft) note(text string) (at, n int) {
	at = atNotes + d.notes
	d.Put(at, text)
	d.notes += len(text)
	return at, len(text)
}

// say is code that hands a text to a host function, log levels before it.
func (d *draft) say(text, function string, before ...[]byte) []byte {
	at, n := d.note(text)
	return slices.Concat(slices.Concat(before...), asm.I32(at), asm.I32(n), d.Call(function))
}

// must is code that traps where ok leaves 0, and logs what was expected.
func (d *draft) must(what string, ok ...[]byte) []byte {
	return slices.Concat(slices.Concat(ok...), asm.EqualZero, asm.When(d.say("broken: "+what, abi.ImportLog, asm.I32(abi.LogError)), asm.Unreachable))
}

// is is code that traps unless got leaves this number.
func (d *draft) is(what string, want int, got ...[]byte) []byte {
	return d.must(what, slices.Concat(got...), asm.I32(want), asm.Equal)
}

// equal is code that traps unless a and b leave the same i32.
func (d *draft) equal(what string, a, b []byte) []byte { return d.must(what, a, b, asm.Equal) }

// call is code that calls a host function with numbers.
func (d *draft) call(function string, args ...int) []byte {
	var code []byte
	for _, a := range args {
		code = append(code, asm.I32(a)...)
	}
	return append(code, d.Call(function)...)
}

// history is the number of tokens, prompt the number of the prompt's, and generated that of the
// others.
func (d *draft) history() []byte { return d.call(abi.ImportHistory, 0, 0, 0) }

func (d *draft) prompt() []byte {
	return append(d.call(abi.ImportParam, abi.ParamPromptTokens), asm.Wrap...)
}

func (d *draft) generated() []byte { return slices.Concat(d.history(), d.prompt(), asm.Subtract) }

// pick is code that finds a token without attributes: plain text.
func (d *draft) pick() []byte {
	return asm.While(asm.Global(picked), asm.I32(1), asm.Add, asm.SetGlobal(picked), asm.Global(picked), d.Call(abi.ImportTokenAttr))
}

// count is code that adds one to a global.
func count(global int) []byte {
	return slices.Concat(asm.Global(global), asm.I32(1), asm.Add, asm.SetGlobal(global))
}

// bind is code that binds buffers where this package keeps them.
func (d *draft) bind(kinds ...int) []byte {
	var code []byte
	for _, k := range kinds {
		place := map[int][2]int{
			abi.BufferCandidates: {atView, viewSize}, abi.BufferMask: {atMask, maskSize}, abi.BufferBias: {atBias, 4 + 8*biasCap},
			abi.BufferSplice: {atSplice, 8 + 4*spliceCap}, abi.BufferText: {atText, textSize},
		}
		if k == abi.BufferLogits {
			d.Pages = rowPages
			code = slices.Concat(code, asm.I32(k), asm.I32(atRow), d.Call(abi.ImportVocabSize), asm.I32(4), asm.Multiply, d.Call(abi.ImportBind), asm.Drop)
			continue
		}
		code = append(code, d.Bind(k, place[k][0], place[k][1])...)
	}
	return code
}

// splice is code that writes the splice buffer; tokens are code.
func splice(backtrack int, tokens ...[]byte) []byte {
	code := slices.Concat(asm.Poke(atSplice, backtrack), asm.Poke(atSplice+4, len(tokens)))
	for i, t := range tokens {
		code = slices.Concat(code, asm.I32(atSplice+8+4*i), t, asm.Store)
	}
	return code
}

// insists adds an accept that traps unless it is told of the picked token.
func (d *draft) insists() *draft {
	return d.on(abi.ExportAccept, d.equal("the token chosen is the one accepted", asm.Local(0), asm.Global(picked)), asm.I32(0))
}

func (d *draft) module() Module { return Module{d.name, d.name + ".wasm", d.Wasm()} }

// build turns drafts into a case, and names it after the first.
func build(rule string, want Want, drafts ...*draft) Case {
	c := Case{Name: strings.TrimPrefix(drafts[0].name, "tck-"), Rule: rule, Want: want}
	for _, d := range drafts {
		c.Modules = append(c.Modules, d.module())
	}
	return c
}

// unchanged is a case whose answer is the one without plugins.
func unchanged(rule string, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Answered, Tokens: MaxTokens, Reason: "length", Text: Same}, drafts...)
}

// answered is a case whose answer has all its tokens, whatever they are.
func answered(rule string, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Answered, Tokens: MaxTokens, Reason: "length"}, drafts...)
}

// stopped is a case whose answer must end after a number of tokens.
func stopped(rule string, tokens int, text Text, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Answered, Tokens: tokens, Reason: "stop", Text: text}, drafts...)
}

// faulted is a case that ends with the fault of the last plugin; the error names it, the export
// and the cause.
func faulted(rule, export, cause string, drafts ...*draft) Case {
	last := drafts[len(drafts)-1].name
	return build(rule, Want{Outcome: Faulted, Error: []string{"plugin " + last, export, cause}}, drafts...)
}

// declined is a case whose request is refused, with an error that has these words.
func declined(rule, words string, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Declined, Error: []string{words}}, drafts...)
}

// refused is a case whose last module is not loaded.
func refused(rule string, d *draft, words ...string) Case {
	return build(rule, Want{Outcome: Refused, Error: words}, d)
}

// refusedBytes is refused for bytes that are not a draft's.
func refusedBytes(name, rule string, wasm []byte, words ...string) Case {
	return Case{Name: name, Rule: rule, Modules: []Module{{"tck-" + name, "tck-" + name + ".wasm", wasm}}, Want: Want{Outcome: Refused, Error: words}}
}

// in is the case with another request.
func (c Case) in(r Request) Case {
	c.Request = r
	return c
}

// Cases are all cases: those of Rules, then those of Hostile.
func Cases() []Case { return append(Rules(), Hostile()...) }

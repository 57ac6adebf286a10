// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// conversation is what a plugin makes of any other.
const conversation = `[{"role":"user","content":"Ribbit"}]`

// messagesCases are about plugins that rewrite conversations, and those that guess tokens.
func messagesCases() []Case {
	refuses := newDraft("messages-refuse", optionalField(abi.ExportMessages))
	refuses.on(abi.ExportMessages, refuses.say("not these messages", abi.ImportFail), asm.I32(1))
	silent := newDraft("messages-silent", optionalField(abi.ExportMessages))
	silent.on(abi.ExportMessages, silent.must("messages are there", asm.I32(2), silent.call(abi.ImportMessages, atHistory, 65536), asm.Less), asm.I32(0))
	late := rewrites("messages-late", conversation)
	late.on(abi.ExportAccept, late.say("[]", abi.ImportEmit), asm.I32(0))
	return []Case{
		answered("the template gets the messages as they were rewritten", rewrites("messages", conversation), rendersRewritten()).in(Request{Chat: true}),
		answered("without a change they stay as they are", silent, rendersAny("messages-kept")).in(Request{Chat: true}),
		answered("prompt is what the model's template makes of messages, in messages and nowhere else", prompted(), rendersAny("prompt")).in(Request{Chat: true}),
		declined("a refusal reaches the client", "not these messages", refuses).in(Request{Chat: true}),
		faulted("messages that are no JSON", abi.ExportMessages, causeAnswer, rewrites("messages-broken", `[{"role":`)).in(Request{Chat: true}),
		faulted("what is no list of messages", abi.ExportMessages, causeAnswer, rewrites("messages-object", `{"role":"user"}`)).in(Request{Chat: true}),
		faulted("messages without a role", abi.ExportMessages, causeAnswer, rewrites("messages-roleless", `[{"content":"a"}]`)).in(Request{Chat: true}),
		faulted("an empty list of messages", abi.ExportMessages, causeAnswer, rewrites("messages-none", `[]`)).in(Request{Chat: true}),
		faulted("emit after the conversation", abi.ExportAccept, causeCall, late).in(Request{Chat: true}),
		unchanged("a wrong guess changes nothing", guesses("draft-wrong", asm.I32(4))),
		unchanged("no guess changes nothing", guesses("draft-none", asm.I32(0))),
		faulted("a guess of more tokens than were asked for", abi.ExportDraft, causeAnswer, guesses("draft-many", asm.Local(0), asm.I32(1), asm.Add)),
		faulted("a negative number of tokens", abi.ExportDraft, causeAnswer, guesses("draft-negative", asm.I32(-1))),
		faulted("a guess that is no token", abi.ExportDraft, causeAnswer, guesses("draft-no-token", asm.Poke(atSplice+8, -1), asm.I32(1))),
	}
}

// prompted asks what the template makes of the messages it is given, and of others.
func prompted() *draft {
	d := newDraft("prompt", optionalField(abi.ExportMessages))
	at, n := d.note(conversation)
	others := func(limit int) []byte { return d.call(abi.ImportPrompt, at, n, atHistory, limit) }
	broken, length := d.note(`[{"role":`)
	const size = 1
	d.on(abi.ExportMessages, d.whereKnown(abi.ImportPrompt,
		others(0), asm.SetGlobal(size), d.must("a prompt that is longer than the text of its message", asm.I32(6), asm.Global(size), asm.Less), asm.Poke(atHistory, 0),
		d.is("nothing is written where it does not fit", 0, asm.I32(atHistory), asm.Load),
		d.equal("the same length where it fits", others(65536), asm.Global(size)),
		d.must("a text", asm.I32(atHistory), asm.Load),
		d.must("that of the messages given", asm.I32(0), d.call(abi.ImportPrompt, 0, 0, atHistory, 65536), asm.Less),
		d.is("what is no list of messages", -1, d.call(abi.ImportPrompt, broken, length, atHistory, 64))), asm.I32(0))
	return d.on(abi.ExportAccept, d.whereKnown(abi.ImportPrompt, d.is("none in accept", -1, others(0))), asm.I32(0))
}

// optionalField has hosts load the plugin that do not know an export.
func optionalField(export string) string { return `"optional":["` + export + `"],` }

// rewrites hands a text to emit.
func rewrites(name, text string) *draft {
	d := newDraft(name, optionalField(abi.ExportMessages))
	return d.on(abi.ExportMessages, d.say(text, abi.ImportEmit), asm.I32(0))
}

// rendersRewritten is a template that gets the conversation, and no other.
func rendersRewritten() *draft {
	d := newDraft("messages-template", "")
	size := d.call(abi.ImportMessages, atHistory, 65536)
	last := slices.Concat(asm.I32(atHistory+len(conversation)-1), asm.LoadByte)
	return d.on(abi.ExportTemplate, d.is("its length", len(conversation), size), d.is("its end", ']', last), d.say("Hello", abi.ImportEmit), asm.I32(0))
}

// rendersAny is a template that has the prompt of the requests without a conversation.
func rendersAny(name string) *draft {
	d := newDraft(name+"-template", "")
	return d.on(abi.ExportTemplate, d.say("Hello", abi.ImportEmit), asm.I32(0))
}

// guesses answers draft with what code leaves, having guessed the picked token four times.
func guesses(name string, code ...[]byte) *draft {
	d := newDraft(name, optionalField(abi.ExportDraft))
	d.open(d.bind(abi.BufferSplice), d.pick(), splice(0, asm.Global(picked), asm.Global(picked), asm.Global(picked), asm.Global(picked)))
	return d.on(abi.ExportDraft, slices.Concat(code...))
}

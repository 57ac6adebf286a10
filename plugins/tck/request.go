// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

const configText = `{"a":1}`

// requestCases are about what a guest learns about its request.
func requestCases() []Case {
	return []Case{
		unchanged("config gives the request's text, and writes nothing where it does not fit", configured()).in(Request{Config: configText}),
		unchanged("without a configuration config gives {}", unconfigured()),
		unchanged("param gives the request's numbers", numbers()),
		unchanged("history is the prompt, then what was accepted; accept includes the token", historian()),
		unchanged("history begins where it is asked to, and counts back from the end for a negative number", lately()),
		unchanged("feature knows imports and exports by their names, and nothing else", asking()),
		unchanged("messages are there for templates only", func() *draft {
			d := newDraft("no-messages", "")
			return d.open(d.is("no messages", 0, d.call(abi.ImportMessages, atScratch, 64)))
		}()),
		answered("random draws depend on the seed, and differ from each other", drawing()),
		unchanged("log takes any level", func() *draft {
			d := newDraft("log-levels", "")
			return d.open(d.say("below", abi.ImportLog, asm.I32(-7)), d.say("above", abi.ImportLog, asm.I32(99)), d.say("", abi.ImportLog, asm.I32(1)))
		}()),
	}
}

func configured() *draft {
	d := newDraft("config-text", "")
	begins := int(configText[0]) | int(configText[1])<<8 | int(configText[2])<<16 | int(configText[3])<<24
	return d.open(
		d.is("its length where it does not fit", len(configText), d.call(abi.ImportConfig, atScratch, len(configText)-1)),
		d.is("nothing is written", 0, asm.I32(atScratch), asm.Load),
		d.is("its length where it fits", len(configText), d.call(abi.ImportConfig, atScratch, len(configText))),
		d.is("the text", begins, asm.I32(atScratch), asm.Load))
}

func unconfigured() *draft {
	d := newDraft("config-none", "")
	return d.open(d.is("{} has 2 bytes", 2, d.call(abi.ImportConfig, atScratch, 8)), d.is("{}", '{'|'}'<<8, asm.I32(atScratch), asm.Load))
}

func numbers() *draft {
	d := newDraft("param", "")
	is := func(what string, kind int, want int64) []byte {
		return d.must(what, d.call(abi.ImportParam, kind), asm.I64(want), asm.Equal64)
	}
	return d.open(
		is("max tokens", abi.ParamMaxTokens, MaxTokens), is("the seed", abi.ParamSeed, Seed),
		is("an unknown kind", 99, -1), is("a negative kind", -1, -1),
		d.equal("prompt tokens are the history at the beginning", d.prompt(), d.history()),
		d.must("the prompt fits the context", d.prompt(), d.call(abi.ImportParam, abi.ParamContextSize), asm.Wrap, asm.Less))
}

// historian counts the tokens accepted so far in a global.
func historian() *draft {
	const accepted = 1
	d := newDraft("history", "")
	read := d.call(abi.ImportHistory, 0, atHistory, 8192)
	last := [][]byte{asm.I32(atHistory - 4), d.history(), asm.I32(4), asm.Multiply, asm.Add, asm.Load}
	soFar := func(where string) []byte { return d.equal("history in "+where, d.generated(), asm.Global(accepted)) }
	d.on(abi.ExportPrepare, soFar("prepare"), asm.I32(0))
	d.open(d.bind(abi.BufferCandidates, abi.BufferText))
	d.on(abi.ExportSample, soFar("sample"), asm.I32(abi.SampleEdited))
	d.on(abi.ExportAccept, count(accepted), soFar("accept"), read, asm.Drop,
		d.equal("the last token is the accepted one", asm.Local(0), slices.Concat(last...)), asm.I32(0))
	return d.on(abi.ExportStop, soFar("stop"), asm.I32(abi.StopShow))
}

// lately asks for parts of the history: all but the first, the last two, and none.
func lately() *draft {
	d := newDraft("history-from", "")
	part := func(from, limit int) []byte { return d.call(abi.ImportHistory, from, atHistory, limit) }
	word := func(at int) []byte { return slices.Concat(asm.I32(at), asm.Load) }
	return d.on(abi.ExportAccept,
		d.equal("all from the second on", part(1, 8192), slices.Concat(d.history(), asm.I32(1), asm.Subtract)),
		d.is("two from the end", 2, part(-2, 2)), d.equal("the last is the accepted one", asm.Local(0), word(atHistory+4)),
		asm.Poke(atHistory, -9), d.is("their number where they do not fit", 2, part(-2, 1)), d.is("nothing is written", -9, word(atHistory)),
		d.is("the last one alone", 1, part(-1, 1)), d.equal("it is the accepted one", asm.Local(0), word(atHistory)),
		d.is("none at the end", 0, d.history(), asm.I32(atHistory), asm.I32(8192), d.Call(abi.ImportHistory)),
		d.is("none behind it", 0, part(1<<31-1, 8192)), d.equal("all where there are not as many", part(-1<<31, 8192), d.history()), asm.I32(0))
}

func asking() *draft {
	d := newDraft("feature", "")
	knows := func(name string, want int) []byte {
		return d.is("feature "+name, want, d.say(name, abi.ImportFeature))
	}
	return d.open(knows(abi.ImportFeature, 1), knows(abi.ImportHistory, 1), knows(abi.ExportRewind, 1),
		knows(abi.FeatureSampleKeep, 1), knows("telepathy", 0), knows("", 0))
}

// drawing takes a candidate by chance.
func drawing() *draft {
	d := newDraft("random", "")
	d.open(d.bind(abi.BufferCandidates))
	d.on(abi.ExportSample,
		d.must("two draws differ", d.Call(abi.ImportRandom), d.Call(abi.ImportRandom), asm.Equal64, asm.EqualZero),
		asm.I32(atView), d.Call(abi.ImportRandom), asm.Wrap, asm.Local(0), asm.Remainder, asm.I32(4), asm.Multiply, asm.Add, asm.Load)
	return d
}

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

// vocabularyCases are about what a guest learns about the model's tokens.
func vocabularyCases() []Case {
	d := newDraft("no-token", "")
	size := d.Call(abi.ImportVocabSize)
	missing := func(token []byte) []byte {
		return slices.Concat(
			d.is("piece of no token", -1, token, asm.I32(atScratch), asm.I32(64), d.Call(abi.ImportPiece)),
			d.is("attributes of no token", -1, token, d.Call(abi.ImportTokenAttr)),
		)
	}
	return []Case{
		unchanged("there is nothing of tokens and kinds that are not", d.open(missing(size), missing(asm.I32(-1)),
			d.is("an unknown special kind", -1, d.call(abi.ImportSpecial, 99)),
			d.must("eos is a token or -1", d.call(abi.ImportSpecial, abi.SpecialEOS), asm.I32(1), asm.Add, size, asm.I32(1), asm.Add, asm.Less))),
		unchanged("vocab has an offset for each piece and one more, then their bytes", wholeVocabulary()),
		unchanged("tokenize counts tokens, writes them where they fit, and refuses unknown flags", tokenizing()),
	}
}

// wholeVocabulary compares vocab with piece, token by token.
func wholeVocabulary() *draft {
	d := newDraft("vocab", "")
	d.Pages = 256
	size, all := d.Call(abi.ImportVocabSize), d.call(abi.ImportVocab, atRow, 12<<20)
	offset := func(index ...[]byte) []byte {
		return slices.Concat(asm.I32(atRow), slices.Concat(index...), asm.I32(4), asm.Multiply, asm.Add, asm.Load)
	}
	return d.open(
		d.equal("its length where it does not fit", d.call(abi.ImportVocab, 0, 0), all),
		d.is("the first offset", 0, offset(asm.I32(0))),
		d.equal("the length is that of the offsets and the last one", all,
			slices.Concat(size, asm.I32(1), asm.Add, asm.I32(4), asm.Multiply, offset(size), asm.Add)),
		asm.Each(1, size, d.equal("the length of a piece", slices.Concat(asm.Local(1), asm.I32(0), asm.I32(0), d.Call(abi.ImportPiece)),
			slices.Concat(offset(asm.Local(1), asm.I32(1), asm.Add), offset(asm.Local(1)), asm.Subtract))))
}

func tokenizing() *draft {
	d := newDraft("tokenize", "")
	at, n := d.note("1 2 3")
	tokens := func(flags, limit int) []byte { return d.call(abi.ImportTokenize, at, n, flags, atHistory, limit) }
	return d.open(
		d.must("there are some", tokens(0, 0)),
		d.is("nothing is written where they do not fit", 0, asm.I32(atHistory), asm.Load),
		d.equal("their number", tokens(0, 0), tokens(0, 64)),
		asm.Each(1, tokens(0, 64), d.must("they are in the vocabulary",
			asm.I32(atHistory), asm.Local(1), asm.I32(4), asm.Multiply, asm.Add, asm.Load, d.Call(abi.ImportVocabSize), asm.Less)),
		d.must("with special tokens there are as many or more", tokens(0, 0),
			tokens(abi.TokenizeAddSpecial|abi.TokenizeParseSpecial, 64), asm.I32(1), asm.Add, asm.Less),
		d.is("an unknown flag", -1, tokens(4, 64)),
		d.is("no text", 0, d.call(abi.ImportTokenize, at, 0, 0, atHistory, 64)))
}

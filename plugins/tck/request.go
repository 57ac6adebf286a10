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

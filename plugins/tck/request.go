// SPDX-License-Identifier: MIT

package tck

import (
	p "github.com/penstock/penstock/host/plugin/plugintest"
	"github.com/penstock/penstock/plugins/abi"
)

const configText = `{"a":1}`

// requestCases are about what a guest is told of its request.
func requestCases() []Case {
	return []Case{
		unchanged("config gives the request's text, and writes nothing where it does not fit", configured()).in(Request{Config: configText}),
		unchanged("without a configuration config gives {}", unconfigured()),
		unchanged("param gives the request's numbers", numbers()),
		unchanged("history is the prompt, then what was accepted; accept includes the token", historian()),
		unchanged("messages are there for templates only", func() *draft {
			d := newDraft("no-messages", "")
			return d.open(d.same("no messages", 0, d.call(abi.ImportMessages, atScratch, 64)))
		}()),
		answered("random draws depend on the seed, and differ from each other", drawing()),
		unchanged("log takes any level", func() *draft {
			d := newDraft("log-levels", "")
			return d.open(d.say("below", abi.ImportLog, p.I32(-7)), d.say("above", abi.ImportLog, p.I32(99)), d.say("", abi.ImportLog, p.I32(1)))
		}()),
	}
}

func configured() *draft {
	d := newDraft("config-text", "")
	begins := int(configText[0]) | int(configText[1])<<8 | int(configText[2])<<16 | int(configText[3])<<24
	return d.open(
		d.same("its length where it does not fit", len(configText), d.call(abi.ImportConfig, atScratch, len(configText)-1)),
		d.same("nothing is written", 0, p.I32(atScratch), p.Load),
		d.same("its length where it fits", len(configText), d.call(abi.ImportConfig, atScratch, len(configText))),
		d.same("the text", begins, p.I32(atScratch), p.Load))
}

func unconfigured() *draft {
	d := newDraft("config-none", "")
	return d.open(d.same("{} has 2 bytes", 2, d.call(abi.ImportConfig, atScratch, 8)), d.same("{}", '{'|'}'<<8, p.I32(atScratch), p.Load))
}

func numbers() *draft {
	d := newDraft("param", "")
	is := func(what string, kind int, want int64) []byte {
		return d.must(what, d.call(abi.ImportParam, kind), p.I64(want), p.Equal64)
	}
	return d.open(
		is("max tokens", abi.ParamMaxTokens, MaxTokens), is("the seed", abi.ParamSeed, Seed),
		is("an unknown kind", 4, -1), is("a negative kind", -1, -1),
		d.like("prompt tokens are the history at the beginning", d.prompt(), d.history()),
		d.must("the prompt fits the context", d.prompt(), d.call(abi.ImportParam, abi.ParamContextSize), p.Wrap, p.Less))
}

// historian counts the tokens accepted so far in a global.
func historian() *draft {
	const accepted = 1
	d := newDraft("history", "")
	read := d.call(abi.ImportHistory, atHistory, 8192)
	last := [][]byte{p.I32(atHistory - 4), d.history(), p.I32(4), p.Multiply, p.Add, p.Load}
	soFar := func(where string) []byte { return d.like("history in "+where, d.generated(), p.Global(accepted)) }
	d.on(abi.ExportPrepare, soFar("prepare"), p.I32(0))
	d.open(d.bind(abi.BufferCandidates, abi.BufferText))
	d.on(abi.ExportSample, soFar("sample"), p.I32(abi.SampleEdited))
	d.on(abi.ExportAccept, count(accepted), soFar("accept"), read, p.Drop,
		d.like("the last token is the accepted one", p.Local(0), join(last)), p.I32(0))
	return d.on(abi.ExportStop, soFar("stop"), p.I32(abi.StopShow))
}

// drawing takes a candidate by chance.
func drawing() *draft {
	d := newDraft("random", "")
	d.open(d.bind(abi.BufferCandidates))
	d.on(abi.ExportSample,
		d.must("two draws differ", d.Call(abi.ImportRandom), d.Call(abi.ImportRandom), p.Equal64, p.EqualZero),
		p.I32(atView), d.Call(abi.ImportRandom), p.Wrap, p.Local(0), p.Remainder, p.I32(4), p.Multiply, p.Add, p.Load)
	return d
}

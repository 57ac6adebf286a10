// SPDX-License-Identifier: MIT

package tck

import (
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// lifeCases are about what is called around a request's tokens.
func lifeCases() []Case {
	return []Case{
		unchanged("a plugin that exports nothing else than version and manifest changes nothing", newDraft("least", "")),
		unchanged("the manifest may come in several parts", inParts()),
		unchanged("_initialize runs before everything else, warm once, and every instance begins with a copy of what warm left", warmed()),
		unchanged("a fault of the last call concerns no request any more", newDraft("close-traps", "").on(abi.ExportClose, asm.Unreachable)),
		declined("a refusal of open is the client's, in the plugin's own words", "no, thank you", refusing()),
		declined("a configuration that does not fit the manifest's schema is the client's", "config", strict()).in(Request{Config: `{"p":2}`}),
		unchanged("one that fits is not", strict().named("config-fits")).in(Request{Config: `{"p":1}`}),
		build("a template makes the prompt of the messages", Want{Outcome: Answered, Tokens: MaxTokens, Reason: "length"}, template()).in(Request{Chat: true}),
		declined("a template needs messages", "messages", template().named("template-prompt")),
		unchanged("after a skipped fault the request goes on as if the plugin were not there",
			newDraft("skipped", "").open().on(abi.ExportAccept, asm.Unreachable)).in(Request{Skip: true}),
	}
}

func inParts() *draft {
	d := newDraft("parts", "")
	describe := &d.Funcs[1]
	describe.Code = nil
	text := d.Data[0].Text
	for i, part := range []string{text[:3], text[3:9], text[9:]} {
		describe.Code = append(describe.Code, d.call(abi.ImportEmit, 8+[]int{0, 3, 9}[i], len(part))...)
	}
	return d
}

// warmed counts in memory and in globals; each request's instance then counts on, and no other
// sees it.
func warmed() *draft {
	const calls = 1 // the global
	stored := func(d *draft, what string, want int) []byte {
		return d.is(what, want, asm.I32(atScratch), asm.Load)
	}
	d := newDraft("warm", "")
	d.on(abi.ExportInitialize, d.is("nothing runs before _initialize", 0, asm.Global(calls)), count(calls), asm.Poke(atScratch, 11))
	d.on(abi.ExportWarm, d.is("warm runs once, after _initialize", 1, asm.Global(calls)), count(calls), asm.Poke(atScratch, 12),
		d.is("nothing is bound in warm", abi.BindRefused, d.call(abi.ImportBind, abi.BufferText, atText, textSize)),
		d.is("no history in warm", 0, d.history()), asm.I32(0))
	return d.open(d.is("globals are as warm left them", 2, asm.Global(calls)), stored(d, "memory is as warm left it", 12),
		count(calls), asm.Poke(atScratch, 13))
}

func refusing() *draft {
	d := newDraft("refuses", "")
	return d.on(abi.ExportOpen, d.say("no, thank you", abi.ImportFail), asm.I32(1))
}

func strict() *draft {
	return newDraft("config", `"config_schema":{"type":"object","properties":{"p":{"type":"number","maximum":1}}},`).open()
}

func template() *draft {
	d := newDraft("template", "")
	return d.on(abi.ExportTemplate, d.must("messages are there", asm.I32(2), d.call(abi.ImportMessages, atHistory, 65536), asm.Less),
		d.is("they are a list", '[', asm.I32(atHistory), asm.LoadByte), d.say("1 2 ", abi.ImportEmit), d.say("3", abi.ImportEmit), asm.I32(0))
}

// named is the same guest under another name.
func (d *draft) named(name string) *draft {
	old := len(d.Data[0].Text)
	fresh := newDraft(name, "")
	manifest := d.Data[0].Text[:old-len(`"name":"`+d.name+`"}`)] + `"name":"` + fresh.name + `"}`
	d.Data[0].Text, d.name = manifest, fresh.name
	for i := range d.Funcs {
		if d.Funcs[i].Name == abi.ExportDescribe {
			d.Funcs[i].Code = d.call(abi.ImportEmit, 8, len(manifest))
		}
	}
	return d
}

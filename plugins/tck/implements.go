// SPDX-License-Identifier: MIT

package tck

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
	return d.runs(d.openPrompt(root), d.greedy(MaxTokens))
}

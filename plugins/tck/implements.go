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

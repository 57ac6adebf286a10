// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// resultFunctions are the imports that hand something to the host.
var resultFunctions = map[string]hostFunction{
	abi.ImportOutput:  hostOutput,
	abi.ImportNote:    hostNote,
	abi.ImportBind:    hostBind,
	abi.ImportDecline: hostDecline,
	abi.ImportHold:    hostHold,
	abi.ImportEmit:    hostEmit,
	abi.ImportFail:    hostFail,
	abi.ImportLog:     hostLog,
}

func hostOutput(i *Instance, c *call) uint64 {
	c.unseen = i.session.Replaying
	if err := i.output(c.in[0]); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		return i32(abi.OutputRefused)
	}
	return i32(abi.OutputOk)
}

func hostNote(i *Instance, c *call) uint64 {
	c.unseen = i.session.Replaying
	if err := i.note(c.in[0]); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		return i32(abi.NoteRefused)
	}
	return i32(abi.NoteOk)
}

func hostBind(i *Instance, c *call) uint64 {
	if i.running == Open && i.Buffers.bind(c.u32(0), c.u32(1), c.u32(2), i.region.Bytes(), i.module.Env.Vocabulary.Size()) {
		return i32(abi.BindOk)
	}
	return i32(abi.BindRefused)
}

func hostDecline(i *Instance, c *call) uint64 {
	if err := i.decline(string(c.in[0][:min(len(c.in[0]), maxExport+1)])); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		return i32(abi.DeclineRefused)
	}
	return i32(abi.DeclineOk)
}

// maxExport is longer than the name of any export.
const maxExport = 64

// decline makes the host stop calling an export.
func (i *Instance) decline(name string) error {
	e := slices.Index(exportNames[:], name)
	switch {
	case i.running != Open:
		return fmt.Errorf("decline belongs to %s", abi.ExportOpen)
	case e < 0 || !abi.Has(abi.Exports, name):
		return fmt.Errorf("decline: there is no export %q", name)
	case Export(e) <= Open || Export(e) == Template || Export(e) == Run:
		return fmt.Errorf("decline: a request cannot do without %s", name)
	}
	i.declined[e] = true
	return nil
}

func hostHold(i *Instance, c *call) uint64 {
	n, most := c.i32(0), i.module.Hold
	switch {
	case i.running != Open:
		i.session.log.add(abi.LogWarn, []byte("hold belongs to "+abi.ExportOpen))
	case n < 0 || int(n) > most:
		i.session.log.add(abi.LogWarn, fmt.Appendf(nil, "hold: %d tokens; the manifest's hold, %d, is the most", n, most))
	default:
		i.hold = int(n)
		return i32(abi.HoldOk)
	}
	return i32(abi.HoldRefused)
}

func hostEmit(i *Instance, c *call) uint64 {
	limit := i.module.Env.Limits.Emit
	switch i.running {
	case Plan:
		limit = i.module.Env.Limits.PlanText
	case Filter:
		limit = i.module.Env.Limits.Filtered
	}
	if len(i.emitted)+len(c.in[0]) > limit {
		panic(Violationf(plugin.CauseLimit, "more than %d bytes emitted", limit))
	}
	i.emitted, i.emits = append(i.emitted, c.in[0]...), true
	return 0
}

func hostFail(i *Instance, c *call) uint64 {
	text := c.in[0]
	if most := i.module.Env.Limits.Fail; len(text) > most {
		text = dropCutCharacter(text[:most])
	}
	i.refusal = append(i.refusal[:0], text...)
	return 0
}

func hostLog(i *Instance, c *call) uint64 {
	i.session.log.add(c.i32(0), c.in[0])
	i.noteLine(c.in[0])
	return 0
}

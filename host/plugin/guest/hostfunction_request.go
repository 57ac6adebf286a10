// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// This file has the host functions about the request, and those that hand something to the host.
// See docs/abi/v1.md.

func hostConfig(i *Instance, s []uint64) { i.write(s, s[0], s[1], 1, i.session.config) }

func hostMessages(i *Instance, s []uint64) { i.write(s, s[0], s[1], 1, i.session.Messages) }

func hostHistory(i *Instance, s []uint64) { i.write(s, s[1], s[2], 4, i.session.historyFrom(s[0])) }

func hostMedia(i *Instance, s []uint64) {
	told := []byte("[]")
	if r := i.session.request; r != nil && len(r.Media) > 0 {
		told = r.Media
	}
	i.write(s, s[0], s[1], 1, told)
}

func hostFeature(i *Instance, s []uint64) {
	text := i.read(s[0], s[1])
	s[0] = 0
	if len(text) > abi.LimitFeatureBytes {
		return
	}
	if slices.Contains(abi.Features, string(text)) {
		s[0] = 1
	}
}

func hostParam(i *Instance, s []uint64) {
	kind := uint32(s[0])
	if int(kind) >= len(i.session.Params) {
		s[0] = ^uint64(0)
		return
	}
	s[0] = uint64(i.session.Params[kind])
}

// requestFuel is what building the description of a request costs.
const requestFuel = 2000

func hostRequest(i *Instance, s []uint64) {
	i.charge(requestFuel)
	sampling := i.session.sampling()
	i.asked(Question{Import: abi.ImportRequest, Text: string(sampling)})
	i.write(s, s[0], s[1], 1, describe(i.module.Env.model, sampling))
}

// What checking a value costs.
const (
	outputFuel     = 1000
	outputByteFuel = 16
)

func hostOutput(i *Instance, s []uint64) {
	value := i.bytesAt(uint64(uint32(s[0])), uint64(uint32(s[1])))
	i.charge(outputFuel + outputByteFuel*uint64(len(value)))
	s[0] = i32(abi.OutputOk)
	if err := i.output(value); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		s[0] = i32(abi.OutputRefused)
	}
}

func hostRandom(i *Instance, s []uint64) { s[0] = i.session.random.next() }

func hostBind(i *Instance, s []uint64) {
	ok := i.running == Open &&
		i.Buffers.bind(uint32(s[0]), uint32(s[1]), uint32(s[2]), i.region.Bytes(), i.module.Env.Vocabulary.Size())
	s[0] = i32(abi.BindOk)
	if !ok {
		s[0] = i32(abi.BindRefused)
	}
}

func hostDecline(i *Instance, s []uint64) {
	text := i.read(s[0], s[1])
	s[0] = i32(abi.DeclineOk)
	if err := i.decline(string(text[:min(len(text), maxExport+1)])); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		s[0] = i32(abi.DeclineRefused)
	}
}

// maxExport is longer than the name of any export.
const maxExport = 64

// decline has the host make no more calls of an export.
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

func hostEmit(i *Instance, s []uint64) {
	if i.running != Describe && i.running != Messages && i.running != Template {
		panic(Violationf(plugin.CauseCall, "emit belongs to %s, %s and %s", abi.ExportDescribe, abi.ExportMessages, abi.ExportTemplate))
	}
	part := i.read(s[0], s[1])
	if limit := i.module.Env.Limits.Emit; len(i.emitted)+len(part) > limit {
		panic(Violationf(plugin.CauseLimit, "more than %d bytes emitted", limit))
	}
	i.emitted = append(i.emitted, part...)
}

func hostFail(i *Instance, s []uint64) {
	text := i.read(s[0], s[1])
	if most := i.module.Env.Limits.Fail; len(text) > most {
		text = dropCutCharacter(text[:most])
	}
	i.refusal = append(i.refusal[:0], text...)
}

func hostLog(i *Instance, s []uint64) {
	i.session.log.add(int32(uint32(s[0])), i.read(s[1], s[2]))
}

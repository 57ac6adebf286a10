// SPDX-License-Identifier: MIT

package plugin

import (
	"slices"
	"unsafe"

	"github.com/penstock/penstock/plugins/abi"
)

// This file has the host functions about the request, and those that hand something to the host. See docs/abi/v1.md.

func hostConfig(i *instance, s []uint64) { i.deliver(s, s[0], s[1], 1, i.session.config) }

func hostMessages(i *instance, s []uint64) { i.deliver(s, s[0], s[1], 1, i.session.messages) }

func hostHistory(i *instance, s []uint64) {
	tokens := i.session.history
	from := int(int32(uint32(s[0])))
	if from < 0 {
		from = max(0, len(tokens)+from)
	}
	tokens = tokens[min(from, len(tokens)):]
	i.deliver(s, s[1], s[2], 4, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(tokens))), 4*len(tokens)))
}

func hostFeature(i *instance, s []uint64) {
	text := i.taken(s[0], s[1])
	s[0] = 0
	if len(text) > abi.LimitFeatureBytes {
		return
	}
	if name := string(text); slices.ContainsFunc(abi.Imports, calledBy(name)) || slices.ContainsFunc(abi.Exports, calledBy(name)) {
		s[0] = 1
	}
}

func hostParam(i *instance, s []uint64) {
	kind := uint32(s[0])
	if int(kind) >= len(i.session.params) {
		s[0] = ^uint64(0)
		return
	}
	s[0] = uint64(i.session.params[kind])
}

func hostRandom(i *instance, s []uint64) { s[0] = i.session.random.next() }

func hostBind(i *instance, s []uint64) {
	ok := i.running == hookOpen &&
		i.buffers.bind(uint32(s[0]), uint32(s[1]), uint32(s[2]), i.region.Bytes(), i.module.runtime.vocabulary.Size())
	s[0] = code(abi.BindOk)
	if !ok {
		s[0] = code(abi.BindRefused)
	}
}

func hostEmit(i *instance, s []uint64) {
	if i.running != hookDescribe && i.running != hookTemplate {
		panic(wrong(CauseCall, "emit belongs to %s and %s", abi.ExportDescribe, abi.ExportTemplate))
	}
	part := i.taken(s[0], s[1])
	if limit := i.module.runtime.limits.Emit; len(i.emitted)+len(part) > limit {
		panic(wrong(CauseLimit, "more than %d bytes emitted", limit))
	}
	i.emitted = append(i.emitted, part...)
}

func hostFail(i *instance, s []uint64) {
	text := i.taken(s[0], s[1])
	if most := i.module.runtime.limits.Fail; len(text) > most {
		text = whole(text[:most])
	}
	i.refusal = append(i.refusal[:0], text...)
}

func hostLog(i *instance, s []uint64) {
	i.session.capture.add(int32(uint32(s[0])), i.taken(s[1], s[2]))
}

// SPDX-License-Identifier: MIT

package guest

import (
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// partByteFuel is what taking the answer apart costs for each byte of its text.
const partByteFuel = 16

// answerParts are an answer's parts, which are looked at when a guest first asks.
type answerParts struct {
	teller plugin.Parts
	begun  bool
	text   string   // that was asked for last
	part   abi.Part // the answer to that
}

func hostPart(i *Instance, _ *call) uint64 {
	tokens := i.session.answer()
	text := i.session.text.of(tokens, i.module.Env.Vocabulary)
	i.charge(uint64(len(tokens)/tokensPerFuel) + partByteFuel*uint64(len(text)))
	return i32(int32(i.session.partOf(text)))
}

// partOf is the part that a text ends in.
func (s *Session) partOf(text []byte) abi.Part {
	p := &s.parts
	if !p.begun {
		p.begun, p.part = true, abi.PartUnknown
		if s.request != nil && s.request.Parts != nil {
			if teller, err := s.request.Parts(); err == nil {
				p.teller, p.part, p.text = teller, teller.Part(""), ""
			}
		}
	}
	if p.teller != nil && string(text) != p.text {
		p.text = string(text)
		p.part = p.teller.Part(p.text)
	}
	return p.part
}

// Close frees what was opened for the session.
func (s *Session) Close() {
	if s.parts.teller != nil {
		s.parts.teller.Close()
		s.parts.teller = nil
	}
}

// SPDX-License-Identifier: MIT

package policy

import (
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
)

// parts tells a plugin the parts of an answer by their numbers in the ABI.
type parts struct{ serving.Parts }

var partNumbers = map[serving.Part]int32{
	serving.PartUnknown: abi.PartUnknown, serving.PartContent: abi.PartContent, serving.PartReasoning: abi.PartReasoning, serving.PartToolCall: abi.PartToolCall,
}

// Part implements plugin.Parts.
func (p parts) Part(text string) int32 { return partNumbers[p.Parts.Part(text)] }

// partsOf begins to take an answer apart for a plugin; nil where nobody can.
func partsOf(ends serving.Ends) func() (plugin.Parts, error) {
	if ends.Parts == nil {
		return nil
	}
	return func() (plugin.Parts, error) {
		told, err := ends.Parts()
		if err != nil {
			return nil, err
		}
		return parts{told}, nil
	}
}

// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/internal/abi"

// Part is a part of an answer.
type Part int32

// The parts.
const (
	Content     Part = abi.PartContent   // what the model says
	Reasoning   Part = abi.PartReasoning // what it thinks before
	ToolCall    Part = abi.PartToolCall  // a call of a tool, with its arguments
	UnknownPart Part = abi.PartUnknown   // the host cannot tell
)

// AnswerPart is the part in which the answer's text ends: in Accept and Stop that of the token, in
// Prepare and Sample that of the last text. A tag between two parts belongs to the part before it,
// until there is text after it. The call costs fuel for each byte of the answer.
func AnswerPart() Part {
	if !Feature("part") {
		return UnknownPart
	}
	return Part(abi.Part())
}

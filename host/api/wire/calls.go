// SPDX-License-Identifier: MIT

package wire

import "github.com/penstock/penstock/host/completion"

// CallDelta is the begin of a tool call, with its id and name, or more of its arguments, as OpenAI
// sends it.
type CallDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// CallDeltas is what an answer gains in tool calls.
func CallDeltas(calls []completion.CallDelta) []CallDelta {
	var out []CallDelta
	for _, call := range calls {
		d := CallDelta{Index: call.Index, ID: call.ID}
		if call.Name != "" {
			d.Type = "function"
		}
		d.Function.Name, d.Function.Arguments = call.Name, call.Arguments
		out = append(out, d)
	}
	return out
}

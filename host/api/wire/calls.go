// SPDX-License-Identifier: MIT

package wire

import "github.com/penstock/penstock/host/completion"

// CallDelta is the begin of a tool call, with its id and name, or more of its arguments, as OpenAI
// sends it. One of Function and Custom is there.
type CallDelta struct {
	Index    int            `json:"index"`
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type,omitempty"`
	Function *FunctionDelta `json:"function,omitempty"`
	Custom   *CustomDelta   `json:"custom,omitempty"`
}

// FunctionDelta is that of a function's call.
type FunctionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// CustomDelta is that of a custom tool's call.
type CustomDelta struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

// CallDeltas is what an answer gains in tool calls.
func CallDeltas(calls []completion.CallDelta) []CallDelta {
	var out []CallDelta
	for _, call := range calls {
		d := CallDelta{Index: call.Index, ID: call.ID}
		if call.Custom {
			d.Type, d.Custom = "custom", &CustomDelta{call.Name, call.Arguments}
		} else {
			d.Type, d.Function = "function", &FunctionDelta{call.Name, call.Arguments}
		}
		if call.Name == "" {
			d.Type = ""
		}
		out = append(out, d)
	}
	return out
}

// Call is a whole tool call, as OpenAI has it.
type Call struct {
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type"`
	Function *FunctionDelta `json:"function,omitempty"`
	Custom   *CustomDelta   `json:"custom,omitempty"`
}

// CallsOf are the tool calls of an answer.
func CallsOf(w *Whole) []Call {
	var out []Call
	for _, d := range CallDeltas(w.Calls) {
		out = append(out, Call{d.ID, d.Type, d.Function, d.Custom})
	}
	return out
}

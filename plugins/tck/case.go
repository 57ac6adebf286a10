// SPDX-License-Identifier: MIT

package tck

// Case is one rule of the ABI and what a host must do about it.
type Case struct {
	Name    string   `json:"name"`
	Rule    string   `json:"rule"`
	Modules []Module `json:"modules"` // loaded, and placed in the request's chain, in this order
	Request Request  `json:"request"`
	Want    Want     `json:"want"`
}

// Module is a plugin; File is its name in the folder that Write makes.
type Module struct {
	Name string `json:"name"`
	File string `json:"file"`
	Wasm []byte `json:"-"`
}

// Request is made once the modules are loaded. It asks for a greedy answer (temperature 0) of
// MaxTokens with Seed; end-of-generation tokens do not end it, and the case's plugins are its only
// samplers.
type Request struct {
	Chat   bool   `json:"chat,omitempty"`   // a conversation; else a plain prompt
	Config string `json:"config,omitempty"` // JSON, for the first plugin
	Skip   bool   `json:"skip,omitempty"`   // on_error: skip, for all plugins
}

// What every request has.
const (
	MaxTokens = 6
	Seed      = 7
)

// Outcome is how a case ends.
type Outcome string

// The outcomes.
const (
	Refused  Outcome = "refused"  // the last module is not loaded
	Declined Outcome = "declined" // the client is told what is wrong with the request (a 400)
	Faulted  Outcome = "faulted"  // the request ends with a plugin's fault
	Answered Outcome = "answered"
)

// Want is what a host must do. The request is made twice, and the answer must be the same.
type Want struct {
	Outcome Outcome  `json:"outcome"`
	Error   []string `json:"error,omitempty"`  // what the error must say: plugin, export and cause of a fault
	Tokens  int      `json:"tokens,omitempty"` // of an answer
	Reason  string   `json:"reason,omitempty"` // stop or length
	Text    Text     `json:"text,omitempty"`
	// Outputs are the values that plugins give, a line each as in Answer. A host that does not
	// know output has none.
	Outputs []string `json:"outputs,omitempty"`
}

// Text relates an answer's text to that of the same request without plugins.
type Text string

// The relations.
const (
	Any    Text = ""
	Same   Text = "same"
	Prefix Text = "prefix" // its beginning, and not all of it
	Empty  Text = "empty"
)

// The causes of faults, as errors name them.
const (
	causeTrap     = "trap"
	causeFuel     = "fuel exhausted"
	causeStack    = "guest call stack exhausted"
	causeMemory   = "access out of bounds"
	causeBuffer   = "buffer not usable"
	causeAnswer   = "wrong answer"
	causeConflict = "conflict"
	causeCall     = "host function not allowed here"
	causeExit     = "exit"
	causeLimit    = "limit exceeded"
)

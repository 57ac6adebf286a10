// SPDX-License-Identifier: MIT

package tck

// Case is one rule of the ABI and what a host must do about it.
type Case struct {
	Name    string   `json:"name"`
	Rule    string   `json:"rule"`
	Modules []Module `json:"modules"` // to be loaded in this order, and to stand in the request's chain in this order
	Request Request  `json:"request"`
	Want    Want     `json:"want"`
}

// Module is a plugin; File is its name in the folder that Write makes.
type Module struct {
	Name string `json:"name"`
	File string `json:"file"`
	Wasm []byte `json:"-"`
}

// Request is what to ask for when the modules are loaded: a greedy answer (temperature 0) with Seed, which end-of-generation
// tokens do not end, of MaxTokens, and with no sampler but the case's plugins.
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
	Declined Outcome = "declined" // the request is the client's to mend (a 400)
	Faulted  Outcome = "faulted"  // the request ends with a plugin's fault
	Answered Outcome = "answered"
)

// Want is what a host must do. An answer is asked for twice: it must be the same both times.
type Want struct {
	Outcome Outcome  `json:"outcome"`
	Error   []string `json:"error,omitempty"`  // what the error's text must have: plugin, export and cause of a fault
	Tokens  int      `json:"tokens,omitempty"` // of an answer
	Reason  string   `json:"reason,omitempty"` // stop or length
	Text    Text     `json:"text,omitempty"`
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

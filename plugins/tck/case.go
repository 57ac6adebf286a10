// SPDX-License-Identifier: MIT

package tck

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

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
	causeError    = "error of the plugin"
)

// Rules are the cases whose guests exercise the ABI: what they may expect of a host, and what a
// host must refuse.
func Rules() []Case {
	return slices.Concat(lifeCases(), requestCases(), vocabularyCases(), bufferCases(), viewCases(), prepareCases(), acceptCases(), rewindCases(),
		stopCases(), filterCases(), retellCases(), strictCases(), messagesCases(), limitCases(), systemCases(), manifestCases(), moduleCases(), additionCases(), implementsCases(), declineCases(),
		programCases(), halfPrograms(), planCases(), fuelCases())
}

// Write makes a folder with the modules of cases, and with cases.json, which has the requests and
// the expected outcomes.
func Write(dir string, cases []Case) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	list, err := json.MarshalIndent(struct {
		MaxTokens int    `json:"max_tokens"`
		Seed      int    `json:"seed"`
		Cases     []Case `json:"cases"`
	}{MaxTokens, Seed, cases}, "", "  ")
	errs := []error{err, os.WriteFile(filepath.Join(dir, "cases.json"), append(list, '\n'), 0o644)}
	for _, c := range cases {
		for _, m := range c.Modules {
			errs = append(errs, os.WriteFile(filepath.Join(dir, m.File), m.Wasm, 0o644))
		}
	}
	return errors.Join(errs...)
}

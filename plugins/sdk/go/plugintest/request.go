// SPDX-License-Identifier: MIT

// Package plugintest stands in for the host in go test: it runs the plugin that the test program
// registers, natively and call by call.
//
// It gives the same answers as the host, and ends the test where the host would end the request.
// Fuel, memory limits and the build for WebAssembly are not covered: penstock plugin test tries a
// built plugin.
//
// With PENSTOCK_RECORD=FOLDER in the environment each session is written to a session file in that
// folder. penstock plugin test repeats its calls under the host; files in a plugin's folder cases
// are its golden cases.
package plugintest

import "github.com/penstock/penstock/plugins/sdk/go/penstock"

// Request is the request that the plugin gets. The zero value is an empty request without a
// vocabulary.
type Request struct {
	Config      string // JSON; empty: {}. What it leaves out has the default of the manifest's schema
	Messages    string // JSON
	Media       string // JSON, what RequestMedia reads; empty: []
	Pieces      []string
	Attributes  map[penstock.Token]penstock.Attributes
	Special     map[penstock.Special]penstock.Token
	Prompt      []penstock.Token
	MaxTokens   int
	ContextSize int
	Seed        uint64
	Model       string // JSON, what Request.Model gives; empty: {}
	Sampling    string // JSON, what Request.Sampling gives; empty: {}
	Time        int64  // milliseconds since 1970; 0: the plugin is not told
	Choice      int
	Choices     int // 0 counts as 1

	// PromptText returns the text that the model's template makes from messages, a JSON list.
	PromptText func(messages string) (string, error) `json:"-"`
	// Says is the model for Session.Run: it returns the logits after some tokens, one for each of
	// Pieces.
	Says func(tokens []penstock.Token) []float32 `json:"-"`
	// Template makes the prompt from messages, a JSON list, for Run.OpenMessages.
	Template func(messages string) ([]penstock.Token, error) `json:"-"`
}

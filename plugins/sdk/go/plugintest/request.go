// SPDX-License-Identifier: MIT

// Package plugintest stands in for the host in go test: it runs the plugin that the test program registers, natively and call by
// call.
//
// It gives the answers that the host gives, and ends the test where the host would end the request. Fuel, memory limits and the
// build for WebAssembly are the host's alone: penstock plugin check tries a built plugin.
//
// With PENSTOCK_RECORD=FOLDER in the environment each session is written to a file in that folder, so that its calls can be
// repeated under the host. The example plugins are tested so.
package plugintest

import "github.com/penstock/penstock/plugins/sdk/go/penstock"

// Request is what the plugin is told. The zero value is an empty request without a vocabulary.
type Request struct {
	Config      string // JSON; empty: {}
	Messages    string // JSON
	Pieces      []string
	Attributes  map[penstock.Token]penstock.Attributes
	Special     map[penstock.Special]penstock.Token
	Prompt      []penstock.Token
	MaxTokens   int
	ContextSize int
	Seed        uint64
}

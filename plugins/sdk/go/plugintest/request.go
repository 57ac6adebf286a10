// SPDX-License-Identifier: MIT

// Package plugintest runs a plugin in a test, call by call, against a small host: natively, so that plain go test works, or in
// whatever WebAssembly runtime a Start stands for.
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

// Start makes a new instance of the plugin, which gets what it asks for from h.
type Start func(h *Host) (Guest, error)

// Guest is an instance of a plugin.
type Guest interface {
	// Has tells whether an export is there.
	Has(export string) bool
	// Call calls one; what has no result gives 0.
	Call(export string, args ...int32) (int32, error)
	// Close ends the instance.
	Close() error
}

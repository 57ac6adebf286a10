// SPDX-License-Identifier: MIT

// Package plugintest stands in for the host in go test: it calls the methods of a plugin natively.
//
// It is for a plugin's own logic. It has no model, no branches and no grammar engine: a plugin that
// asks for one of them ends the test. What a plugin does with a model is tested on its module, by
// cases that `penstock plugin test` plays in the real runtime. docs/plugins/debugging.md shows how
// to test each kind of plugin.
package plugintest

import "github.com/penstock/penstock/plugins/sdk/go/penstock"

// Request is the request that the plugin gets. The zero value is an empty request without a
// vocabulary.
type Request struct {
	Config      string // JSON; empty: {}. It gets the defaults of the schema's properties, but not those behind items, allOf or a $ref
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
}

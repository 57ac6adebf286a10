// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler/chain"
)

// PluginOutput is a value that a plugin gave for the client.
type PluginOutput struct {
	Plugin string          `json:"plugin"`
	Tokens int             `json:"tokens"` // that the answer had then
	Value  json.RawMessage `json:"value"`
}

// OutputOf describes a value of a plugin.
func OutputOf(o chain.Output) PluginOutput {
	return PluginOutput{Plugin: completion.PluginOf(o.By), Tokens: o.Tokens, Value: o.Value}
}

// OutputsOf describes the values that a choice has; nil if there are none.
func OutputsOf(c *completion.Choice) (list []PluginOutput) {
	for _, o := range c.Outputs {
		list = append(list, OutputOf(o))
	}
	return list
}

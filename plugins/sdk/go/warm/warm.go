// SPDX-License-Identifier: MIT

// Package warm is the extension point that builds what all requests need, a vocabulary index for example, once for each model.
// Every request then begins with a copy of the plugin's memory.
package warm

import (
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Warmer builds tables.
type Warmer interface {
	// Warm builds them. There is no request yet: no configuration, no history, no buffers. An error means that the plugin
	// cannot work with this model.
	Warm() error
}

// Register makes w what builds the plugin's tables.
func Register(w Warmer) {
	guest.Warm = func() int32 { return penstock.Refuse(w.Warm()) }
}

//go:wasmexport penstock_warm
func export() int32 { return guest.Warm() }

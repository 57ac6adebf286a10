// SPDX-License-Identifier: MIT

// Package rewind is the extension point that learns of tokens which others took back: another plugin's splice, or a user who
// goes back, inserts or branches off.
package rewind

import (
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Rewinder can go back.
type Rewinder interface {
	// Rewind tells that the history is now n tokens long, prompt included. An error ends the request.
	Rewind(n int) error
}

// Register makes r what is told of tokens taken back.
func Register(r Rewinder) {
	guest.Rewind = func(size int32) int32 { return penstock.Refuse(r.Rewind(int(size))) }
}

//go:wasmexport penstock_rewind
func export(size int32) int32 { return guest.Rewind(size) }

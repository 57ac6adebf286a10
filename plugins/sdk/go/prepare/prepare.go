// SPDX-License-Identifier: MIT

// Package prepare is the extension point that works while the model computes: it says which tokens may come next, or which
// are wanted more or less, before the logits exist. What it takes costs no time as long as it is done before the model is.
package prepare

import (
	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Filled says which buffers hold something for the next token; bits may be joined.
type Filled int32

// What can be filled. The buffers are made with penstock.NewMask, NewBias and NewSplice when the request is opened.
const (
	Nothing Filled = 0
	Mask    Filled = abi.PrepareMask
	Bias    Filled = abi.PrepareBias
	Force   Filled = abi.PrepareForce // the splice holds one token, with nothing taken back, that comes next whatever the logits
)

// Preparer looks ahead.
type Preparer interface {
	// Prepare fills buffers for the next token and says which.
	Prepare() Filled
}

// Register makes p what prepares the plugin's tokens.
func Register(p Preparer) {
	guest.Prepare = func() int32 { return int32(p.Prepare()) }
}

//go:wasmexport penstock_prepare
func export() int32 { return guest.Prepare() }

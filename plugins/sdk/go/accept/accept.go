// SPDX-License-Identifier: MIT

// Package accept is the extension point that is told each token once it is chosen, and may take tokens back.
//
// Without package rewind, a plugin that accepts is begun anew and told all tokens again whenever others take some back.
package accept

import (
	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Answer says how to go on.
type Answer int32

// The answers.
const (
	Continue Answer = abi.AcceptContinue
	Stop     Answer = abi.AcceptStop   // end the answer after this token
	Splice   Answer = abi.AcceptSplice // take back and insert what the plugin's penstock.Splice says
)

// Accepter follows the tokens.
type Accepter interface {
	// Accept gets each token once it is chosen, by whatever stage. The tokens of the plugin's own splice are accepted too;
	// Splice is no answer to those.
	Accept(t penstock.Token) Answer
}

// Register makes a what accepts the plugin's tokens.
func Register(a Accepter) {
	guest.Accept = func(token int32) int32 { return int32(a.Accept(token)) }
}

//go:wasmexport penstock_accept
func export(token int32) int32 { return guest.Accept(token) }

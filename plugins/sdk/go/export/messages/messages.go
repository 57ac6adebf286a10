// SPDX-License-Identifier: MIT

// Package messages exports penstock_messages to the host. The file penstock_exports.go imports it
// where the plugin's type has the method.
package messages

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasRewrite }

//go:wasmexport penstock_messages
func export() int32 { return guest.Rewrite() }

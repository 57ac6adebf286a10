// SPDX-License-Identifier: MIT

// Package accept exports penstock_accept to the host. The file penstock_exports.go imports it
// where the plugin's type has the method.
package accept

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasAccept }

//go:wasmexport penstock_accept
func export(token int32) int32 { return guest.Accept(token) }

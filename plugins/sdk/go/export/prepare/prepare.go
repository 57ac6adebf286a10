// SPDX-License-Identifier: MIT

// Package prepare exports penstock_prepare to the host. The file penstock_exports.go imports it
// where the plugin's type has the method.
package prepare

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasPrepare }

//go:wasmexport penstock_prepare
func export() int32 { return guest.Prepare() }

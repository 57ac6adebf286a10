// SPDX-License-Identifier: MIT

// Package stop exports penstock_stop to the host. The file penstock_exports.go imports it where
// the plugin's type has the method.
package stop

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasStop }

//go:wasmexport penstock_stop
func export(token, size int32) int32 { return guest.Stop(token, size) }

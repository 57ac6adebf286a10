// SPDX-License-Identifier: MIT

// Package warm exports penstock_warm to the host. The file penstock_exports.go imports it where
// the plugin's type has the method.
package warm

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasWarm }

//go:wasmexport penstock_warm
func export() int32 { return guest.Warm() }

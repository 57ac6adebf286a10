// SPDX-License-Identifier: MIT

// Package rewind exports penstock_rewind to the host. The file penstock_exports.go imports it
// where the plugin's type has the method.
package rewind

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasRewind }

//go:wasmexport penstock_rewind
func export(size int32) int32 { return guest.Rewind(size) }

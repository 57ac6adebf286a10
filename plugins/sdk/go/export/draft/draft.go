// SPDX-License-Identifier: MIT

// Package draft exports penstock_draft to the host. The file penstock_exports.go imports it where
// the plugin's type has the method.
package draft

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasDraft }

//go:wasmexport penstock_draft
func export(n int32) int32 { return guest.Draft(n) }

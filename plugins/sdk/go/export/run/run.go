// SPDX-License-Identifier: MIT

// Package run exports penstock_run to the host. The file penstock_exports.go imports it where the
// plugin's type has the method.
package run

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasRun }

//go:wasmexport penstock_run
func export() int32 { return guest.Run() }

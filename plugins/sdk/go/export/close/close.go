// SPDX-License-Identifier: MIT

// Package close exports penstock_close to the host. The file penstock_exports.go imports it where
// the plugin's type has the method.
package close

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasClose }

//go:wasmexport penstock_close
func export() { guest.Close() }

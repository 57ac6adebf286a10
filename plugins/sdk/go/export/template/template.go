// SPDX-License-Identifier: MIT

// Package template exports penstock_template to the host. The file penstock_exports.go imports it
// where the plugin's type has the method.
package template

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasRender }

//go:wasmexport penstock_template
func export() int32 { return guest.Render() }

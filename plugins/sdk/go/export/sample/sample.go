// SPDX-License-Identifier: MIT

// Package sample exports penstock_sample to the host. The file penstock_exports.go imports it
// where the plugin's type has the method.
package sample

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

func init() { guest.Exported |= guest.HasSample }

//go:wasmexport penstock_sample
func export(n int32) int32 { return guest.Sample(n) }

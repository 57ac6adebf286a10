// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

// Every module exports all calls. The manifest lists those that the plugin has methods for, and the
// host makes no others.

//go:wasmexport penstock_abi_v1
func exportVersion() {}

//go:wasmexport penstock_warm
func exportWarm() int32 { return guest.Warm() }

//go:wasmexport penstock_plan
func exportPlan() int32 { return guest.Plan() }

//go:wasmexport penstock_open
func exportOpen() int32 { return guest.Open() }

//go:wasmexport penstock_messages
func exportMessages() int32 { return guest.Rewrite() }

//go:wasmexport penstock_template
func exportTemplate() int32 { return guest.Render() }

//go:wasmexport penstock_prepare
func exportPrepare() int32 { return guest.Prepare() }

//go:wasmexport penstock_sample
func exportSample(n int32) int32 { return guest.Sample(n) }

//go:wasmexport penstock_accept
func exportAccept(token int32) int32 { return guest.Accept(token) }

//go:wasmexport penstock_stop
func exportStop(token, size int32) int32 { return guest.Stop(token, size) }

//go:wasmexport penstock_filter
func exportFilter(size, last int32) int32 { return guest.Filter(size, last) }

//go:wasmexport penstock_draft
func exportDraft(n int32) int32 { return guest.Draft(n) }

//go:wasmexport penstock_rewind
func exportRewind(size int32) int32 { return guest.Rewind(size) }

//go:wasmexport penstock_run
func exportRun() int32 { return guest.Run() }

//go:wasmexport penstock_close
func exportClose() { guest.Close() }

// SPDX-License-Identifier: MIT

package guest

import (
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// Export is a function of a guest that the host calls.
type Export uint8

// The exports. Up to Template their calls are set-up, with limits of their own.
const (
	none Export = iota // instantiation
	Start
	Initialize
	Describe
	Warm
	Plan
	Open
	Messages
	Template
	Close
	Prepare
	Sample
	Accept
	Stop
	Rewind
	Filter
	Draft
	Run
	exports
)

var exportNames = [exports]string{
	none: "instantiation", Start: fuel.StartExport, Initialize: abi.ExportInitialize,
	Describe: abi.ExportDescribe, Warm: abi.ExportWarm, Plan: abi.ExportPlan, Open: abi.ExportOpen, Messages: abi.ExportMessages, Template: abi.ExportTemplate,
	Close: abi.ExportClose, Prepare: abi.ExportPrepare, Sample: abi.ExportSample, Accept: abi.ExportAccept,
	Stop: abi.ExportStop, Rewind: abi.ExportRewind, Filter: abi.ExportFilter, Draft: abi.ExportDraft, Run: abi.ExportRun,
}

// String is the export's name, as errors show it.
func (e Export) String() string {
	if e == Start {
		return "start function"
	}
	return exportNames[e]
}

// setup reports whether a call of e is set-up, with its larger limits.
func (e Export) setup() bool { return e <= Template }

// SPDX-License-Identifier: MIT

package plugin

import (
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// hook is an export that the host calls.
type hook uint8

const (
	hookNone hook = iota
	hookStart
	hookInitialize
	hookDescribe
	hookWarm
	hookOpen
	hookTemplate
	hookClose
	hookPrepare
	hookSample
	hookAccept
	hookStop
	hookRewind
	hooks
)

var hookNames = [hooks]string{
	hookNone: "instantiation", hookStart: fuel.StartExport, hookInitialize: abi.ExportInitialize,
	hookDescribe: abi.ExportDescribe, hookWarm: abi.ExportWarm, hookOpen: abi.ExportOpen, hookTemplate: abi.ExportTemplate,
	hookClose: abi.ExportClose, hookPrepare: abi.ExportPrepare, hookSample: abi.ExportSample, hookAccept: abi.ExportAccept,
	hookStop: abi.ExportStop, hookRewind: abi.ExportRewind,
}

// String is the export's name, as errors show it.
func (h hook) String() string {
	if h == hookStart {
		return "start function"
	}
	return hookNames[h]
}

// setup tells whether a call of h is set-up, with its larger limits.
func (h hook) setup() bool { return h < hookClose }

// SPDX-License-Identifier: MIT

package guest

import "github.com/penstock/penstock/host/plugin"

// This file charges for the work of host functions. A guest's own code charges for itself: package
// fuel has written that into it.

// callFuel is what every call of a host function costs besides what its entry in the ABI says:
// leaving and entering compiled code takes as long as so many instructions.
const callFuel = 128

// charge takes fuel for the work of a host function. It ends the call if too little is left.
func (i *Instance) charge(units uint64) {
	if !i.meter.Charge(units) {
		panic(i.outOfFuel("in a host function"))
	}
}

// chargeBytes pays for n bytes.
func (i *Instance) chargeBytes(n int) { i.charge(uint64(n) / 16) }

// outOfFuel is the violation of a call that has used up its fuel somewhere.
func (i *Instance) outOfFuel(where string) *Violation {
	if all := i.module.Env.Limits.ProgramFuel; i.branches != nil && i.fuelLimit >= all {
		return Violationf(plugin.CauseFuel, "%s: a program has %d units for all of its work (programs.fuel)", where, all)
	}
	return Violationf(plugin.CauseFuel, "%s", where)
}

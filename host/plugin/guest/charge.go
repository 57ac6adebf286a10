// SPDX-License-Identifier: MIT

package guest

import "github.com/penstock/penstock/host/plugin"

// This file charges for the work of host functions, and gives them access to guest memory. A guest's own code charges for itself:
// package fuel has written that into it.

// callFuel is what every call of a host function costs besides what its entry in the ABI says: leaving and entering
// compiled code takes as long as so many instructions.
const callFuel = 128

// charge takes fuel for the work of a host function. It ends the call if too little is left.
func (i *Instance) charge(units uint64) {
	if !i.meter.Charge(units) {
		panic(Violationf(plugin.CauseFuel, "in a host function"))
	}
}

// chargeBytes pays for n bytes.
func (i *Instance) chargeBytes(n int) { i.charge(uint64(n) / 16) }

// pauseBefore takes a pause before work of a host function that may take longer than its fuel tells.
func (i *Instance) pauseBefore() {
	if err := i.pause(); err != nil {
		panic(err)
	}
}

// bytesAt returns n bytes of guest memory from ptr on, or ends the call.
func (i *Instance) bytesAt(ptr, n uint64) []byte {
	all := i.region.Bytes()
	if size := uint64(len(all)); n > size || ptr > size-n {
		panic(Violationf(plugin.CauseMemory, "%d bytes at %d, the memory has %d", n, ptr, size))
	}
	return all[ptr : ptr+n : ptr+n]
}

// read returns the bytes at (ptr, len) of guest memory and charges for them.
func (i *Instance) read(ptr, n uint64) []byte {
	b := i.bytesAt(uint64(uint32(ptr)), uint64(uint32(n)))
	i.chargeBytes(len(b))
	return b
}

// write writes data to (ptr, limit), in units of size bytes each, charges for it and leaves the number of units on the stack. Where
// they do not fit nothing is written.
func (i *Instance) write(stack []uint64, ptr, limit uint64, size int, data []byte) {
	room := i.bytesAt(uint64(uint32(ptr)), uint64(uint32(limit))*uint64(size))
	if len(data) <= len(room) {
		i.chargeBytes(len(data))
		copy(room, data)
	}
	stack[0] = uint64(uint32(len(data) / size))
}

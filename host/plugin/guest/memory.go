// SPDX-License-Identifier: MIT

package guest

import (
	"unsafe"

	"github.com/penstock/penstock/host/plugin"
)

// This file gives host functions access to guest memory. Every address that a guest passes is
// checked here.

// bytesAt returns n bytes of guest memory from ptr on, or ends the call.
func (i *Instance) bytesAt(ptr, n uint64) []byte {
	all := i.region.Bytes()
	if size := uint64(len(all)); n > size || ptr > size-n {
		panic(Violationf(plugin.CauseMemory, "%d bytes at %d, the memory has %d", n, ptr, size))
	}
	return all[ptr : ptr+n : ptr+n]
}

// read returns the bytes at (ptr, len) of guest memory and charges for them.
func (i *Instance) read(ptr, n uint64) []byte { return i.readUnits(ptr, n, 1) }

// readUnits is read for n units of size bytes each, which together may be more than 32 bits can
// count.
func (i *Instance) readUnits(ptr, n uint64, size int) []byte {
	b := i.bytesAt(uint64(uint32(ptr)), uint64(uint32(n))*uint64(size))
	i.chargeBytes(len(b))
	return b
}

// bytesOf are numbers as they lie in memory, which is little-endian as a guest's is.
func bytesOf[T int32 | uint32 | float32](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list))
}

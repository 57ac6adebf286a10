// SPDX-License-Identifier: MIT

package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// reserve takes address space that faults on access and counts towards no
// memory limit.
func reserve(size uint64) ([]byte, error) {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_NONE, flags)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(base), size), nil
}

// commit makes the bytes from from to to accessible; the kernel gives a page,
// zeroed, when it is first touched.
func commit(reserved []byte, from, to uint64) error {
	return unix.Mprotect(reserved[from:to], unix.PROT_READ|unix.PROT_WRITE)
}

// release gives the address space back. It cannot fail for a range that
// reserve returned.
func release(reserved []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(reserved)), uintptr(len(reserved)))
}

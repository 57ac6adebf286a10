// SPDX-License-Identifier: MIT

package compile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// muchMemory is from how many bytes on memory is populated.
const muchMemory = 256 << 10

// populate has the kernel give all pages of memory that is about to be written at once. One at a time, each when it is touched, they
// take longer than what is written to them. It is only a hint: an older kernel does not know it.
func populate(b []byte) {
	if len(b) >= muchMemory {
		page := uintptr(os.Getpagesize())
		toPage := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % page
		_ = unix.Madvise(b[toPage:], unix.MADV_POPULATE_WRITE)
	}
}

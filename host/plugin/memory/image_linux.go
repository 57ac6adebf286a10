// SPDX-License-Identifier: MIT

package memory

import (
	"bytes"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Image is the content of a memory at one moment, in a sealed memory file. It
// is safe for concurrent use.
type Image struct {
	size  uint64
	base  *Image       // of a difference, which has these stretches of its own; nil: it has everything
	spans []span       // in the order in which they lie in the file
	mu    sync.RWMutex // held for reading while the file is mapped
	fd    int          // −1 after Close
}

// sealed forbids any change of the file from now on.
const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

func newImage(content []byte) (*Image, error) {
	fd, err := unix.MemfdCreate("penstock-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("failed to create an image: %w", err)
	}
	i := &Image{size: uint64(len(content)), fd: fd}
	if err := fill(fd, content); err != nil {
		return nil, fmt.Errorf("failed to fill an image of %d bytes: %w", len(content), joined(err, i.Close()))
	}
	return i, nil
}

func joined(first, second error) error {
	if second != nil {
		return fmt.Errorf("%w; %w", first, second)
	}
	return first
}

// fill writes the pages that are not zero; the others stay holes.
func fill(fd int, content []byte) error {
	if err := unix.Ftruncate(fd, int64(len(content))); err != nil {
		return err
	}
	var zero [pageSize]byte
	for at := 0; at < len(content); at += pageSize {
		page := content[at:min(at+pageSize, len(content))]
		if bytes.Equal(page, zero[:len(page)]) {
			continue
		}
		for done := 0; done < len(page); {
			n, err := unix.Pwrite(fd, page[done:], int64(at+done))
			if err != nil {
				return err
			}
			done += n
		}
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sealed)
	return err
}

// Size returns the image's length in bytes.
func (i *Image) Size() uint64 { return i.size }

// Close lets the image go. What was restored from it stays.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fd < 0 {
		return nil
	}
	err := unix.Close(i.fd)
	i.fd = -1
	return err
}

// overlay maps the file from an offset on over to, copy-on-write.
func (i *Image) overlay(to []byte, from int) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.fd < 0 {
		return fmt.Errorf("failed to restore an image: %w", ErrFreed)
	}
	if len(to) == 0 {
		return nil
	}
	const flags = unix.MAP_PRIVATE | unix.MAP_FIXED | unix.MAP_NORESERVE
	_, err := unix.MmapPtr(i.fd, int64(from), unsafe.Pointer(unsafe.SliceData(to)), uintptr(len(to)), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return fmt.Errorf("failed to map an image of %d bytes: %w", i.size, err)
	}
	return nil
}

// read shows the file's content for as long as see runs.
func (i *Image) read(see func(content []byte)) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	switch {
	case i.fd < 0:
		return fmt.Errorf("failed to read an image: %w", ErrFreed)
	case i.size == 0:
		see(nil)
		return nil
	}
	content, err := unix.Mmap(i.fd, 0, int(i.size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("failed to map an image of %d bytes: %w", i.size, err)
	}
	see(content)
	return unix.Munmap(content)
}

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

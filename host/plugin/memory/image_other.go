// SPDX-License-Identifier: MIT

//go:build !linux

package memory

import (
	"bytes"
	"fmt"
	"sync/atomic"
)

// Image is the content of a memory at one moment. It is safe for concurrent
// use.
type Image struct {
	size    uint64
	base    *Image                 // of a difference, which has these stretches of its own; nil: it has everything
	spans   []span                 // in the order in which they lie in content
	content atomic.Pointer[[]byte] // nil after Close
}

func newImage(content []byte) (*Image, error) {
	i, clone := &Image{size: uint64(len(content))}, bytes.Clone(content)
	i.content.Store(&clone)
	return i, nil
}

// Size returns the image's length in bytes.
func (i *Image) Size() uint64 { return i.size }

// Close lets the image go. What was restored from it stays.
func (i *Image) Close() error {
	i.content.Store(nil)
	return nil
}

// overlay copies the content from an offset on into to.
func (i *Image) overlay(to []byte, from int) error {
	content := i.content.Load()
	if content == nil {
		return fmt.Errorf("failed to restore an image: %w", ErrFreed)
	}
	copy(to, (*content)[from:])
	return nil
}

// read shows the content for as long as see runs.
func (i *Image) read(see func(content []byte)) error {
	content := i.content.Load()
	if content == nil {
		return fmt.Errorf("failed to read an image: %w", ErrFreed)
	}
	see(*content)
	return nil
}

// reserve takes the whole region from the Go heap, which large allocations
// leave to the system until they are touched.
func reserve(size uint64) ([]byte, error) { return make([]byte, size), nil }

func commit(_ []byte, _, _ uint64) error { return nil }

func release(_ []byte) {}

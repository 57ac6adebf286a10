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

// overlay copies the image into to, which has its size.
func (i *Image) overlay(to []byte) error {
	content := i.content.Load()
	if content == nil {
		return fmt.Errorf("failed to restore an image: %w", ErrFreed)
	}
	copy(to, *content)
	return nil
}

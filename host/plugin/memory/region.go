// SPDX-License-Identifier: MIT

// Package memory gives guests linear memory that never moves, that costs only
// the pages it touches, and that can begin as a copy of another's.
//
// A Region is reserved address space. Growing makes more of it accessible and
// copies nothing, so a host may keep the address of a bound buffer for the
// life of an instance. An Image is the content of a Region at one moment;
// restoring it into another maps it copy-on-write, so that a thousand
// instances share the pages of one warmed instance until they write to them.
//
// A Region belongs to one instance:
//
//	region, err := memory.New(64<<20, nil)
//	ctx = experimental.WithMemoryAllocator(ctx, region)
//	instance, err := runtime.InstantiateModule(ctx, compiled, config)
//	err = region.Restore(instance.Memory(), image) // if there is an image
//
// Restoring comes after instantiation, which writes the module's data
// segments: they would overwrite what the warmed instance made of them.
//
// wazero frees the Region when the instance is closed. Slices of it must not
// be used after that: their pages are gone.
//
// On Linux pages come from mmap and images are sealed memory files. Elsewhere
// the Go heap stands in, with the same behaviour at the price of copies.
//
// # Why is plugins.memory as much for a server as it was for a model?
//
// Guests use memory while requests run, and requests of several models share the processors that
// they shared before. A guest has 0.3 to 2 MiB, at most 64. 2 GiB is enough for a thousand usual
// guests or 32 of the largest.
package memory

import (
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// ErrFreed is returned for a Region or Image that is no longer there.
var ErrFreed = errors.New("memory is freed")

// ErrSize is returned for more memory than a guest can address, and where an
// Image does not fit a memory.
var ErrSize = errors.New("size does not fit")

// ErrChanged means that more of a memory differs from its base than may.
var ErrChanged = errors.New("too much memory differs")

// pageSize is the unit in which WebAssembly memory grows, mostMemory what its
// addresses reach, in bytes.
const (
	pageSize   = 1 << 16
	mostMemory = 1 << 32
)

// Region is the linear memory of one instance. It is not safe for concurrent
// use, as the instance is not.
type Region struct {
	reserved []byte // all that the region may become; accessible up to size
	size     uint64
	account  Account
	refused  bool
	exceeded uint64
	mapped   int // stretches of a difference
}

// Account bounds what many regions may become together. It is safe for
// concurrent use.
type Account interface {
	Take(bytes uint64) bool // false if they are not to be had
	Give(bytes uint64)      // what was taken
}

var (
	_ experimental.MemoryAllocator = (*Region)(nil)
	_ experimental.LinearMemory    = (*Region)(nil)
)

// New reserves a region of limit bytes, rounded up to whole pages of 64 KiB.
// Nothing of it is accessible or takes memory yet. The limit is at least a page and at most 4 GiB.
// What becomes accessible is taken from the account, which may be nil.
func New(limit uint64, account Account) (*Region, error) {
	if limit > mostMemory {
		return nil, fmt.Errorf("%d bytes of guest memory, at most %d can be addressed: %w", limit, uint64(mostMemory), ErrSize)
	}
	limit = max(1, (limit+pageSize-1)/pageSize) * pageSize
	reserved, err := reserve(limit)
	if err != nil {
		return nil, fmt.Errorf("failed to reserve %d bytes of guest memory: %w", limit, err)
	}
	return &Region{reserved: reserved, account: account}, nil
}

// Allocate implements experimental.MemoryAllocator for the one memory that an
// instance can have.
func (r *Region) Allocate(_, _ uint64) experimental.LinearMemory { return r }

// Reallocate implements experimental.LinearMemory: it makes size bytes
// accessible, the new ones zero. The address stays. It returns nil beyond the
// limit, which Exceeded tells, and where the account has too little.
func (r *Region) Reallocate(size uint64) []byte {
	if size > uint64(len(r.reserved)) {
		r.exceeded = size
		return nil
	}
	if size > r.size {
		if r.account != nil && !r.account.Take(size-r.size) {
			r.refused = true
			return nil
		}
		if err := commit(r.reserved, r.size, size); err != nil {
			r.give(size - r.size)
			return nil
		}
		r.size = size
	}
	return r.reserved[:size:size]
}

func (r *Region) give(bytes uint64) {
	if r.account != nil {
		r.account.Give(bytes)
	}
}

// Refused tells that the account had too little since Forget.
func (r *Region) Refused() bool { return r.refused }

// Exceeded is the size in bytes beyond the limit that was last asked for since Forget, and the
// limit; 0: none was.
func (r *Region) Exceeded() (size, limit uint64) { return r.exceeded, uint64(len(r.reserved)) }

// Forget forgets what Refused and Exceeded tell: the instance has come to terms with what it has.
func (r *Region) Forget() { r.exceeded, r.refused = 0, false }

// Free implements experimental.LinearMemory. wazero calls it when the instance
// is closed; a host calls it where no instance came to be. Twice does no harm.
func (r *Region) Free() {
	if r.reserved != nil {
		release(r.reserved)
		r.give(r.size)
		mapped.Add(-int64(r.mapped))
		r.reserved, r.size, r.mapped = nil, 0, 0
	}
}

// Bytes returns what is accessible; nil after Free.
func (r *Region) Bytes() []byte { return r.reserved[:r.size:r.size] }

// Snapshot copies the content into an Image. No guest may run meanwhile.
func (r *Region) Snapshot() (*Image, error) {
	if r.reserved == nil {
		return nil, fmt.Errorf("failed to take a snapshot: %w", ErrFreed)
	}
	return newImage(r.Bytes())
}

// Restore makes the content that of the image, growing memory, which is the
// instance's view of this region, to its size. A memory that is larger is
// ErrSize.
func (r *Region) Restore(memory api.Memory, image *Image) error {
	if r.reserved == nil {
		return fmt.Errorf("failed to restore an image: %w", ErrFreed)
	}
	if missing := int64(image.Size()) - int64(memory.Size()); missing < 0 {
		return fmt.Errorf("image of %d bytes for a memory of %d: %w", image.Size(), memory.Size(), ErrSize)
	} else if _, ok := memory.Grow(uint32(missing / pageSize)); !ok {
		return fmt.Errorf("memory cannot grow to the image's %d bytes: %w", image.Size(), ErrSize)
	}
	stretches, err := image.restore(r.Bytes())
	r.mapped += stretches
	return err
}

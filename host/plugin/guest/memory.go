// SPDX-License-Identifier: MIT

package guest

import (
	"unsafe"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// bytesAt returns n bytes of guest memory from ptr on, or ends the call. Every address that a guest
// passes to a host function is checked here.
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

// bytesOf views numbers as bytes: this machine is little-endian, like guest memory.
func bytesOf[T int32 | uint32 | float32](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list))
}

// buffer is a part of guest memory that the guest bound. The bytes stay valid as long as the
// instance, since its memory never moves or shrinks.
type buffer struct {
	ptr   uint32
	bytes []byte // nil: not bound
}

func (b *buffer) bound() bool { return b.bytes != nil }

// Buffers are the buffers that an instance has bound, by the ABI's kinds.
type Buffers [abi.BufferText + 1]buffer

// bind checks a range of memory and keeps it; false means refused.
func (b *Buffers) bind(kind, ptr, size uint32, memory []byte, vocabulary int) bool {
	if kind < abi.BufferCandidates || kind > abi.BufferText || b[kind].bound() {
		return false
	}
	end := uint64(ptr) + uint64(size)
	if ptr%4 != 0 || end > uint64(len(memory)) || uint64(size) < leastSize(kind, vocabulary) {
		return false
	}
	for i := range b {
		if o := &b[i]; o.bound() && uint64(o.ptr) < end && uint64(ptr) < uint64(o.ptr)+uint64(len(o.bytes)) {
			return false
		}
	}
	b[kind] = buffer{ptr, memory[ptr:end:end]}
	return true
}

// leastSize returns how many bytes a buffer must have.
func leastSize(kind uint32, vocabulary int) uint64 {
	switch kind {
	case abi.BufferCandidates:
		return 8 // one id and one logit
	case abi.BufferLogits:
		return max(4, 4*uint64(vocabulary))
	case abi.BufferMask:
		return max(4, 4*uint64(maskWords(vocabulary)))
	case abi.BufferBias:
		return 4 + 8 // one entry
	case abi.BufferSplice:
		return 8 // no token: taking back alone
	}
	return abi.LimitTextBytes
}

// maskWords is the length of a mask over n tokens.
func maskWords(n int) int { return (n + 31) / 32 }

// viewAs views bytes of guest memory, aligned to 4, as numbers.
func viewAs[T int32 | uint32 | float32](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Bound reports whether a buffer of a kind is bound.
func (b *Buffers) Bound(kind int32) bool { return b[kind].bound() }

// Candidates returns the two halves of the candidates buffer. This buffer and those of the methods
// below must be bound.
func (b *Buffers) Candidates() (ids []int32, logits []float32) {
	bytes := b[abi.BufferCandidates].bytes
	n := len(bytes) / 8
	return viewAs[int32](bytes[:4*n]), viewAs[float32](bytes[4*n : 8*n])
}

// Logits is the logits buffer.
func (b *Buffers) Logits() []float32 { return viewAs[float32](b[abi.BufferLogits].bytes) }

// Mask is the mask buffer's first words, a bit for each of n tokens. The bits beyond them are
// cleared.
func (b *Buffers) Mask(n int) []uint32 {
	mask := viewAs[uint32](b[abi.BufferMask].bytes)[:maskWords(n)]
	if rest := n % 32; rest != 0 {
		mask[len(mask)-1] &= 1<<rest - 1
	}
	return mask
}

// Bias is the bias buffer: a number of entries, then a token and a value each.
func (b *Buffers) Bias() []byte { return b[abi.BufferBias].bytes }

// Splice is the splice buffer: how many tokens are taken back, how many follow, and those.
func (b *Buffers) Splice() []uint32 { return viewAs[uint32](b[abi.BufferSplice].bytes) }

// Text is the text buffer.
func (b *Buffers) Text() []byte { return b[abi.BufferText].bytes }

// SPDX-License-Identifier: MIT

package stage

import (
	"encoding/binary"
	"math"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
)

// Prepare implements chain.Preparer. The mask it returns is the guest's own memory.
func (s *Stage) Prepare() (chain.Prepared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Prepare) {
		return chain.Prepared{}, nil
	}
	returned, err := s.instance.Call(guest.Prepare, 0, 0)
	if err != nil {
		return chain.Prepared{}, s.endOnFault(err)
	}
	p, v := s.readPrepared(returned)
	if v != nil {
		return chain.Prepared{}, s.endOnFault(s.instance.Fail(guest.Prepare, v))
	}
	return p, nil
}

// readPrepared reads what prepare says it filled.
func (s *Stage) readPrepared(bits int32) (p chain.Prepared, _ *guest.Violation) {
	const known = abi.PrepareMask | abi.PrepareBias | abi.PrepareForce
	if bits&^int32(known) != 0 {
		return p, guest.Violationf(plugin.CauseAnswer, "%#x has bits that mean nothing", uint32(bits))
	}
	b := &s.instance.Buffers
	for _, part := range [...]struct{ bit, kind int32 }{
		{abi.PrepareMask, abi.BufferMask}, {abi.PrepareBias, abi.BufferBias}, {abi.PrepareForce, abi.BufferSplice},
	} {
		if bits&part.bit != 0 && !b.Bound(part.kind) {
			return p, guest.Violationf(plugin.CauseAnswer, "bit %d is set, but buffer %d is not bound", part.bit, part.kind)
		}
	}
	if bits&abi.PrepareMask != 0 {
		if p.Mask = s.mask(); !chain.AllowsAny(p.Mask) {
			return p, guest.Violationf(plugin.CauseAnswer, "the mask allows no token")
		}
	}
	var v *guest.Violation
	if bits&abi.PrepareBias != 0 {
		if p.Bias, v = s.biases(b.Bias()); v != nil {
			return p, v
		}
	}
	if bits&abi.PrepareForce != 0 {
		backtrack, tokens, v := s.readSplice()
		if v != nil {
			return p, v
		}
		if backtrack != 0 || len(tokens) == 0 {
			return p, guest.Violationf(plugin.CauseAnswer, "forced tokens need backtrack 0 and n 1 or more, not %d and %d", backtrack, len(tokens))
		}
		p.Forced = tokens
	}
	return p, nil
}

// mask is the bound mask, without the bits beyond the vocabulary.
func (s *Stage) mask() []uint32 {
	n := s.vocabulary()
	mask := s.instance.Buffers.Mask(n)
	if rest := n % 32; rest != 0 {
		mask[len(mask)-1] &= 1<<rest - 1
	}
	return mask
}

// biases reads the bound bias buffer.
func (s *Stage) biases(from []byte) ([]chain.Bias, *guest.Violation) {
	n, room := binary.LittleEndian.Uint32(from), (len(from)-4)/8
	if uint64(n) > uint64(room) {
		return nil, guest.Violationf(plugin.CauseAnswer, "%d biases in a buffer for %d", n, room)
	}
	s.bias = s.bias[:0]
	for i := range int(n) {
		entry := from[4+8*i:]
		token := binary.LittleEndian.Uint32(entry)
		value := math.Float32frombits(binary.LittleEndian.Uint32(entry[4:]))
		if uint64(token) >= uint64(s.vocabulary()) || !(value <= math.MaxFloat32) {
			return nil, guest.Violationf(plugin.CauseAnswer, "bias %d of %d: %v on token %d; it must be finite or −inf, on a token below %d", i, n, value, token, s.vocabulary())
		}
		s.bias = append(s.bias, chain.Bias{Token: int32(token), Value: value})
	}
	return s.bias, nil
}

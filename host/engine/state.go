// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A saved state is a header and what llama.cpp wrote. llama.cpp trusts a state it is given, so the header proves that
// it is one of ours and whole:
//
//	0  magic "PSK1"
//	4  CRC-32C of the rest
//	8  length of llama.cpp's part
const stateHeader = 16

var (
	stateMagic = [4]byte{'P', 'S', 'K', '1'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errBadState = errors.New("not a saved state of this engine, or a damaged one")
)

// StateSize implements scheduler.StateMemory.
func (b *backend) StateSize(seq int32) int {
	n, err := b.context.StateSize(seq)
	if err != nil {
		return 0
	}
	return stateHeader + n
}

// SaveState implements scheduler.StateMemory.
func (b *backend) SaveState(seq int32, dst []byte) (int, error) {
	if len(dst) <= stateHeader {
		return 0, fmt.Errorf("save sequence %d: a buffer of %d bytes is too small", seq, len(dst))
	}
	n, err := b.context.SaveState(seq, dst[stateHeader:])
	if err != nil {
		return 0, err
	}
	copy(dst, stateMagic[:])
	binary.LittleEndian.PutUint64(dst[8:], uint64(n))
	binary.LittleEndian.PutUint32(dst[4:], crc32.Checksum(dst[8:stateHeader+n], castagnoli))
	return stateHeader + n, nil
}

// RestoreState implements scheduler.StateMemory.
func (b *backend) RestoreState(seq int32, src []byte) error {
	if len(src) < stateHeader || [4]byte(src) != stateMagic ||
		binary.LittleEndian.Uint64(src[8:]) != uint64(len(src)-stateHeader) ||
		binary.LittleEndian.Uint32(src[4:]) != crc32.Checksum(src[8:], castagnoli) {
		return fmt.Errorf("restore sequence %d: %w", seq, errBadState)
	}
	return b.context.RestoreState(seq, src[stateHeader:])
}

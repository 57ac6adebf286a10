// SPDX-License-Identifier: MIT

package watermark

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/bits"
)

// key is a secret, from which those of contexts are derived: src/keyed.rs of
// plugins/examples/watermark computes the same, and both tests read its testdata/words.json.
type key [8]uint32

// blockNumbers is how many numbers a block has.
const blockNumbers = 16

func parseKey(text string) (k key, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4*len(k) {
		return k, errors.New("key must have 64 hexadecimal digits, as `openssl rand -hex 32` prints")
	}
	for i := range k {
		k[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return k, nil
}

// after is the key for what follows after some words. All lists of words that a key is used with
// must have the same length.
func (k key) after(words ...uint32) key {
	for len(words) > 0 {
		input := [4]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1} // which is no token
		words = words[copy(input[:], words):]
		block := k.block(input)
		copy(k[:], block[:])
	}
	return k
}

// number is that of a token: 32 bits of which each is as likely as the other.
func (k key) number(token uint32) uint32 {
	return k.block([4]uint32{token / blockNumbers})[token%blockNumbers]
}

// half is a number of a token of 16 bits, of which a block has twice as many: the plugin needs them
// for all of a vocabulary.
func (k key) half(token uint32) uint16 {
	word := k.block([4]uint32{token / (2 * blockNumbers)})[token/2%blockNumbers]
	return uint16(word >> (16 * (token % 2)))
}

// block is the block function of ChaCha with 8 rounds.
func (k *key) block(input [4]uint32) (x [blockNumbers]uint32) {
	copy(x[:], []uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574})
	copy(x[4:], k[:])
	copy(x[12:], input[:])
	begin := x
	for range 4 {
		for i := range 4 {
			quarterRound(&x, i, i+4, i+8, i+12)
		}
		for i := range 4 {
			quarterRound(&x, i, (i+1)%4+4, (i+2)%4+8, (i+3)%4+12)
		}
	}
	for i := range x {
		x[i] += begin[i]
	}
	return x
}

func quarterRound(x *[blockNumbers]uint32, a, b, c, d int) {
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 16)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 12)
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 8)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 7)
}

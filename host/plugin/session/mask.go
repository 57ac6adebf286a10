// SPDX-License-Identifier: MIT

package session

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Mask says which tokens may come next: only those of Allow, all but those of Ban, or those whose
// bits are set in the ABI's layout, in little-endian words. The zero value allows all.
type Mask struct {
	Allow []Token `json:"allow,omitempty"`
	Ban   []Token `json:"ban,omitempty"`
	Bits  []byte  `json:"bits,omitempty"`
}

// NewMask is the shortest form of a mask in the ABI's layout, over n tokens.
func NewMask(words []uint32, n int) *Mask {
	allowed := 0
	for _, w := range words {
		allowed += bits.OnesCount32(w)
	}
	shortList := len(words) / 2 // as many tokens as a number of bits takes characters, about
	switch {
	case allowed > 0 && allowed <= max(shortList, 8):
		return &Mask{Allow: list(words, n, true, allowed)}
	case n-allowed <= max(shortList, 8):
		return &Mask{Ban: list(words, n, false, n-allowed)}
	}
	raw := make([]byte, 0, 4*len(words))
	for _, w := range words {
		raw = binary.LittleEndian.AppendUint32(raw, w)
	}
	return &Mask{Bits: raw}
}

// list are the tokens whose bits are as wanted.
func list(words []uint32, n int, set bool, count int) []Token {
	tokens := make([]Token, 0, count)
	for t := range n {
		if words[t/32]>>(t%32)&1 == 1 == set {
			tokens = append(tokens, Token(t))
		}
	}
	return tokens
}

// Words are the mask over n tokens in the ABI's layout.
func (m *Mask) Words(n int) []uint32 {
	words := make([]uint32, (n+31)/32)
	switch {
	case m.Bits != nil:
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(m.Bits[4*i:])
		}
	case m.Allow != nil:
		for _, t := range m.Allow {
			words[t/32] |= 1 << (t % 32)
		}
	default:
		for t := range n {
			words[t/32] |= 1 << (t % 32)
		}
		for _, t := range m.Ban {
			words[t/32] &^= 1 << (t % 32)
		}
	}
	return words
}

// check refuses a mask that is invalid for n tokens.
func (m *Mask) check(n int) error {
	switch {
	case m == nil:
		return nil
	case m.Allow != nil && m.Ban != nil, m.Bits != nil && (m.Allow != nil || m.Ban != nil):
		return fmt.Errorf("mask: it has two of allow, ban and bits; give one")
	case m.Bits != nil && len(m.Bits) != (n+31)/32*4:
		return fmt.Errorf("mask.bits: %d bytes; a mask over %d tokens has %d", len(m.Bits), n, (n+31)/32*4)
	}
	if err := checkTokens("mask.allow", m.Allow, n); err != nil {
		return err
	}
	return checkTokens("mask.ban", m.Ban, n)
}

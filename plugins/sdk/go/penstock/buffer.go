// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// ErrBind means that the host did not take a buffer: buffers are made once, while a request is opened.
var ErrBind = errors.New("the host refused a buffer; make each kind once, in the function given to Register")

// words makes a buffer and hands it to the host. It is made at run time since a large static array would be written out in
// the module.
func words(kind int32, n int) ([]uint32, error) {
	w := make([]uint32, n)
	if abi.Bind(kind, unsafe.Pointer(&w[0]), int32(4*n)) != abi.BindOk {
		return nil, ErrBind
	}
	return w, nil
}

// Mask is a set of tokens that may come next, a bit each. Package prepare tells the host when it is filled.
type Mask struct{ words []uint32 }

// NewMask makes the request's mask, with no token in it. Call it in the function given to Register.
func NewMask() (*Mask, error) {
	w, err := words(abi.BufferMask, max(1, (VocabSize()+31)/32))
	return &Mask{w}, err
}

// Allow adds a token.
func (m *Mask) Allow(t Token) { m.words[t>>5] |= 1 << (t & 31) }

// Ban removes a token.
func (m *Mask) Ban(t Token) { m.words[t>>5] &^= 1 << (t & 31) }

// Allowed reports whether a token is in it.
func (m *Mask) Allowed(t Token) bool { return m.words[t>>5]&(1<<(t&31)) != 0 }

// AllowAll adds every token, BanAll removes every token.
func (m *Mask) AllowAll() { m.fill(math.MaxUint32) }

// BanAll removes every token.
func (m *Mask) BanAll() { m.fill(0) }

func (m *Mask) fill(word uint32) {
	for i := range m.words {
		m.words[i] = word
	}
}

// Bias is a list of amounts to be added to logits.
type Bias struct{ words []uint32 }

// NewBias makes the request's list, with room for some entries, at least one. Call it in the function given to Register.
func NewBias(room int) (*Bias, error) {
	w, err := words(abi.BufferBias, 1+2*max(1, room))
	return &Bias{w}, err
}

// Reset empties the list.
func (b *Bias) Reset() { b.words[0] = 0 }

// Add adds an amount to a token's logit; −Inf bans the token. It returns false if there is no room.
func (b *Bias) Add(t Token, amount float32) bool {
	at := 1 + 2*int(b.words[0])
	if at+2 > len(b.words) {
		return false
	}
	b.words[at], b.words[at+1] = uint32(t), math.Float32bits(amount)
	b.words[0]++
	return true
}

// Splice says which tokens are taken back and which take their place.
type Splice struct{ words []uint32 }

// NewSplice makes the request's splice, with room for some tokens. Call it in the function given to Register.
func NewSplice(room int) (*Splice, error) {
	w, err := words(abi.BufferSplice, 2+max(0, room))
	return &Splice{w}, err
}

// Set writes it: how many tokens are taken back, counted from the token just accepted and including it, and what comes
// instead. It returns false, and writes nothing, if there is no room. Package accept says when a splice is due.
func (s *Splice) Set(backtrack int, tokens ...Token) bool {
	if len(tokens) > len(s.words)-2 {
		return false
	}
	s.words[0], s.words[1] = uint32(backtrack), uint32(len(tokens))
	for i, t := range tokens {
		s.words[2+i] = uint32(t)
	}
	return true
}

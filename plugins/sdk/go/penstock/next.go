// SPDX-License-Identifier: MIT

package penstock

import (
	"math"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Next has the constraints for the next token. Those that are not set do not apply.
type Next struct {
	mask   Mask
	filled int32
}

// Mask is the set of tokens that may come next. It is as the last call left it, and empty at first;
// if it stays empty, the plugin fails.
func (n *Next) Mask() *Mask {
	n.filled |= abi.PrepareMask
	return &n.mask
}

// Bias adds an amount to a token's logit; −Inf bans the token. It returns false if there is no room
// for another entry: the manifest's Biases sets how many there are.
func (n *Next) Bias(t Token, amount float32) bool {
	if !addBias(t, amount) {
		return false
	}
	n.filled |= abi.PrepareBias
	return true
}

// Force makes these tokens come next, one after another and whatever the logits are. Each is
// accepted like any other. The manifest's Splice limits how many there may be; more end the
// request.
func (n *Next) Force(tokens ...Token) {
	if len(tokens) == 0 {
		return
	}
	n.filled |= abi.PrepareForce
	if len(tokens) > 1 && !Feature("prepare_force_many") {
		forceLater(tokens)
		tokens = tokens[:1]
	}
	setSplice(0, tokens)
}

// Mask is a set of tokens, with one bit for each. Tokens that do not exist are never in it.
type Mask struct{ words []uint32 }

// Allow adds a token.
func (m *Mask) Allow(t Token) {
	if at := t >> 5; uint64(at) < uint64(len(m.words)) {
		m.words[at] |= 1 << (t & 31)
	}
}

// Ban removes a token.
func (m *Mask) Ban(t Token) {
	if at := t >> 5; uint64(at) < uint64(len(m.words)) {
		m.words[at] &^= 1 << (t & 31)
	}
}

// Allowed reports whether a token is in it.
func (m *Mask) Allowed(t Token) bool {
	at := t >> 5
	return uint64(at) < uint64(len(m.words)) && m.words[at]&(1<<(t&31)) != 0
}

// AllowAll adds every token.
func (m *Mask) AllowAll() { m.fill(math.MaxUint32) }

// BanAll removes every token.
func (m *Mask) BanAll() { m.fill(0) }

// Words are the bits: token t is bit t mod 32 of word t / 32. A plugin may keep masks and copy
// them here.
func (m *Mask) Words() []uint32 { return m.words }

func (m *Mask) fill(word uint32) {
	for i := range m.words {
		m.words[i] = word
	}
}

var (
	next     Next
	preparer Preparer
)

func beginNext(value any) {
	guest.Prepare, later = nil, nil
	if p, ok := value.(Preparer); ok {
		preparer, guest.Prepare = p, prepare
	}
}

// defaultRoom is the room for biases, or for tokens of a splice, if the manifest does not set it.
const defaultRoom = 256

func bindNext() bool {
	if guest.Prepare == nil {
		return bindBias()
	}
	next.mask.words = bindWords(abi.BufferMask, max(1, (VocabSize()+31)/32))
	return next.mask.words != nil && bindBias()
}

func prepare() int32 {
	next.filled, biases[0] = 0, 0
	if later == nil || !later(&next) {
		preparer.Prepare(&next)
	}
	return next.filled
}

// later forces the next of the tokens that are left; it is nil on hosts that take several forced
// tokens at a time. It returns false if none is left, or if something else happened in between.
var later func(*Next) bool

// forceLater keeps tokens for the next calls of prepare; the first of them is forced now.
func forceLater(tokens []Token) {
	tokens = append([]Token(nil), tokens...)
	at, forced := HistoryLen()+1, 0 // tokens[forced] was forced last, and is to be the last of so many
	later = func(n *Next) bool {
		last, _ := LastToken()
		if HistoryLen() != at || last != tokens[forced] || forced+1 == len(tokens) {
			later = nil
			return false
		}
		at, forced = at+1, forced+1
		n.filled = abi.PrepareForce
		setSplice(0, tokens[forced:forced+1])
		return true
	}
}

// SPDX-License-Identifier: MIT

package kvcache

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/piece"
)

// Cold keeps conversations outside main memory, as on a disk: those that leave the archive, that
// have rested for a while, or that are there when the server ends. What it finds for a request it
// reads back beside the ticks.
//
// Its methods are called by ticks, so they do not wait, Offer at the end excepted.
type Cold interface {
	// Find looks for the conversation of which a request with these digests can use most. Only one
	// that was computed in the same scope counts.
	Find(digests []Digest, scope Scope) (found Stored, ok bool)
	// Fetch reads a conversation. done gets it from another goroutine, to close it, or an error
	// after which the conversation is no longer found.
	Fetch(id uint64, scope Scope, done func(*Saved, error))
	// Offer takes over a conversation, to keep or to close it. At the end it may wait until there
	// is room for more, and reports whether it makes sense to offer another one.
	Offer(s *Saved, end bool) (more bool)
	// Forget drops a conversation that turned out to be none of this memory's.
	Forget(id uint64)
	// Erase drops the conversations that are a part of one with these digests, or go on with it.
	Erase(digests []Digest, scope Scope)
}

// Stored is what a cold store has for a request.
type Stored struct {
	ID        uint64
	Tokens    int           // of the whole conversation
	Common    int           // that it begins with and the request, too, as far as digests tell
	Usable    int           // of Common, those that come back: a memory that cannot be cut does so at checkpoints
	Reading   time.Duration // until it is read and copied, with what is to be read before
	Computing time.Duration // that computing all its tokens took; 0: not known
}

const (
	// restBefore is how long a conversation rests before it is offered.
	restBefore = 10 * time.Second
	// LeastCold is how many tokens a conversation has that is offered, where Options do not say
	// otherwise, or has grown by at the end of the process.
	LeastCold = 512
	// onceFactor is how many times more one has that nobody has continued yet.
	onceFactor = 4
)

// Covers reports whether what is stored of n tokens is so much of them that the rest is not worth
// writing all of them again: what grows is written anew when it has grown by a quarter, and at the
// end of the process by less.
func (s Stored) Covers(n int, end bool) bool {
	if end {
		return n-s.Common < LeastCold
	}
	return s.Common+BlockTokens > n || s.Common/4*5 >= n
}

// worthOffering reports whether a conversation is likely to be asked for again, and long enough
// that this matters.
func (c *Cache) worthOffering(v *conversation) bool {
	n := len(v.tokens)
	return n >= onceFactor*c.leastCold || n >= c.leastCold && v.continued
}

// forCold is a conversation as the cold store gets it, with a state of its own.
func (c *Cache) forCold(v *conversation, state State) *Saved {
	v.offered = len(v.tokens)
	saved, k := v.savedAs(state), c.checkpoints.memory
	saved.Cuttable = k == nil || k.StateCuttable(state, 1)
	return saved
}

// retire offers an entry that is about to be dropped.
func (c *Cache) retire(e *entry) {
	if c.cold != nil && e.sequence == nil && e.offered != len(e.tokens) && c.worthOffering(&e.conversation) {
		c.offerEntry(e, false)
	}
}

// offerEntry offers an entry of the archive.
func (c *Cache) offerEntry(e *entry, end bool) (more bool) {
	return c.cold.Offer(c.forCold(&e.conversation, e.state.Keep()), end)
}

// OfferIdle offers a conversation that has rested for a while, unless something else is copied.
// The copy is one that nobody waits for, as SaveAhead's.
func (c *Cache) OfferIdle() {
	if c.cold == nil || c.Copying() || c.saveAheadDue {
		return
	}
	s, at := c.nextOffer()
	if s == nil || at.After(c.now()) || c.timeLeft(savingAhead) <= 0 {
		return
	}
	s.digests = appendDigests(s.digests, s.tokens, c.pieces, mostHashed)
	if len(s.digests) < len(s.tokens)/BlockTokens {
		return // the next tick goes on
	}
	if stored, ok := c.cold.Find(s.digests, s.scope); ok && stored.Covers(len(s.tokens), false) {
		s.offered = len(s.tokens)
		return
	}
	c.offer(s, false)
}

// offer offers a sequence: the archive's copy of it, or one that it begins to make, and finishes at
// the end of the process.
func (c *Cache) offer(s *Sequence, end bool) (more bool) {
	if e := s.archived; e != nil {
		s.offered = len(s.tokens)
		return c.offerEntry(e, end)
	}
	if c.cutToBorder(s); !c.worthOffering(&s.conversation) {
		return true
	}
	state, err := c.states.SaveState(s.id)
	if err != nil {
		s.offered = len(s.tokens) // it will be computed again
		return true
	}
	saved := c.forCold(&s.conversation, state)
	more = true
	c.copy = copyInProgress{kind: savingAhead, sequence: s, exported: func(err error) {
		if err != nil {
			s.offered = 0
			_ = saved.Close()
			return
		}
		more = c.cold.Offer(saved, end)
	}}
	if end {
		c.advanceCopy(-1, true)
	} else {
		c.continueCopy()
	}
	return more
}

// NextOffer is when a conversation will have rested for long enough to be offered; ok is false if
// there is none.
func (c *Cache) NextOffer() (at time.Time, ok bool) {
	s, at := c.nextOffer()
	return at, s != nil
}

// nextOffer is the sequence to offer next, and from when on; nil: there is none.
func (c *Cache) nextOffer() (next *Sequence, at time.Time) {
	if c.cold == nil || c.states == nil {
		return nil, at
	}
	for _, s := range c.sequences {
		if s.offered != len(s.tokens) && c.offerable(s) && (next == nil || s.rests.Before(at)) {
			next, at = s, s.rests
		}
	}
	return next, at.Add(restBefore)
}

// offerable reports whether nobody uses a sequence which is worth it to be offered.
func (c *Cache) offerable(s *Sequence) bool {
	return !s.running && !s.unsure && !s.dropped && c.worthOffering(&s.conversation)
}

// OfferAll offers what is worth it at the end of the process, what was used last first. It takes
// as long as the cold store lets it.
func (c *Cache) OfferAll() {
	if c.cold == nil || c.states == nil {
		return
	}
	c.finishCopy()
	for _, s := range c.byUse() {
		if c.offerable(s) && !c.isStored(&s.conversation) && !c.offer(s, true) {
			return
		}
	}
	for _, e := range slices.Backward(c.archive.entries) {
		if e.sequence == nil && c.worthOffering(&e.conversation) && !c.isStored(&e.conversation) && !c.offerEntry(e, true) {
			return
		}
	}
}

// isStored reports whether the cold store has nearly all of a conversation.
func (c *Cache) isStored(v *conversation) bool {
	stored, ok := c.cold.Find(DigestsWith(v.tokens, c.pieces), v.scope)
	return ok && stored.Covers(len(v.tokens), true)
}

// Thaw begins to restore what a request can use of a conversation from the cold store into an idle
// sequence, where Acquire then finds it, unless it has to wait. ErrState: it is of no use to the
// request, or to any. What was saved may be closed then.
func (c *Cache) Thaw(saved *Saved, r Claim) (w Wait, err error) {
	tokens, err := c.importTokens(saved)
	if err != nil {
		return WaitNone, err
	}
	n := 0
	if saved.Scope == r.Scope {
		n = c.pieces.Border(tokens, CommonPrefix(tokens, reusable(r.Tokens)))
	}
	if n == 0 {
		return WaitNone, fmt.Errorf("%w: it begins otherwise than its digests say", ErrState)
	}
	if !saved.Cuttable { // all of it comes back, and the sequence is cut at a checkpoint
		n = len(tokens)
	}
	s, w, err := c.beginRestore(saved, tokens[:n])
	if s == nil {
		return w, err
	}
	s.prompt, s.continued = min(saved.Prompt, n), saved.Continued
	if n == len(tokens) {
		s.offered = n
	}
	return WaitNone, nil
}

// eraseCold drops what the cold store has of a conversation.
func (c *Cache) eraseCold(v *conversation) {
	if c.cold != nil {
		c.cold.Erase(DigestsWith(v.tokens, c.pieces), v.scope)
	}
}

// BlockTokens is how many tokens a block has: a prefix is told to others by the digests of its
// blocks.
const BlockTokens = 64

// Digest names a block of tokens together with all blocks before it: two prompts with the same
// digest begin alike. It is the beginning of a SHA-256: of the digest before it, zero for the
// first block, and of the tokens as 32-bit numbers, little-endian: a hash chain, as in the prefix
// caches of vLLM. A row of a piece counts as piece.Table.Word says, so the same picture has the
// same digest everywhere.
type Digest [8]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Digests computes the digests of the whole blocks of tokens without pieces.
func Digests(tokens []Token) []Digest { return DigestsWith(tokens, nil) }

// DigestsWith is Digests for tokens among which there may be rows of a table's pieces.
func DigestsWith(tokens []Token, pieces *piece.Table) []Digest {
	return appendDigests(nil, tokens, pieces, len(tokens)/BlockTokens)
}

// appendDigests goes on with the digests of tokens, by most blocks at most.
func appendDigests(digests []Digest, tokens []Token, pieces *piece.Table, most int) []Digest {
	var in [len(Digest{}) + 4*BlockTokens]byte
	for ; most > 0 && (len(digests)+1)*BlockTokens <= len(tokens); most-- {
		block := tokens[len(digests)*BlockTokens:][:BlockTokens]
		if len(digests) > 0 {
			copy(in[:], digests[len(digests)-1][:])
		}
		for i, t := range block {
			word := uint32(t)
			if t < 0 {
				word = pieces.Word(t)
			}
			binary.LittleEndian.PutUint32(in[len(Digest{})+4*i:], word)
		}
		sum := sha256.Sum256(in[:])
		digests = append(digests, Digest(sum[:len(Digest{})]))
	}
	return digests
}

// Prefix is what of a cached conversation a later request may reuse, by its blocks.
type Prefix struct {
	Scope   Scope
	Digests []Digest // of its first blocks; nobody changes them
	Blocks  int      // in all
}

// mostHashed is how many blocks one call of Prefixes computes the digest of, since a tick waits
// for it: some 50 µs.
const mostHashed = 128

// Prefixes lists the conversations in the cache, what is in use first and then what was used last,
// and after these the archive's, with at most `most` digests. A digest is computed once, and of
// many new blocks some are left to the next call.
func (c *Cache) Prefixes(most int) []Prefix {
	all := make([]*conversation, 0, len(c.sequences)+len(c.archive.entries))
	for _, s := range c.byUse() {
		if !s.unsure && !s.dropped {
			all = append(all, &s.conversation)
		}
	}
	for _, e := range slices.Backward(c.archive.entries) {
		if e.sequence == nil { // else it is in the cache, too
			all = append(all, &e.conversation)
		}
	}
	left := mostHashed
	for _, v := range all {
		had := len(v.digests)
		v.digests = appendDigests(v.digests, v.tokens, c.pieces, left)
		left -= len(v.digests) - had
	}
	return copyDigests(all, most)
}

// copyDigests copies at most `most` digests of conversations. The copies share one piece of
// memory.
func copyDigests(all []*conversation, most int) []Prefix {
	total := 0
	for _, v := range all {
		total += len(v.digests)
	}
	list, memory := make([]Prefix, 0, len(all)), make([]Digest, 0, min(total, most))
	for _, v := range all {
		if len(v.tokens) < BlockTokens {
			continue
		}
		from := len(memory)
		memory = append(memory, v.digests[:min(len(v.digests), most-from)]...)
		list = append(list, Prefix{Scope: v.scope, Digests: slices.Clip(memory[from:]), Blocks: len(v.tokens) / BlockTokens})
	}
	return list
}

// byUse lists the sequences, those of requests first, and then the most recently used.
func (c *Cache) byUse() []*Sequence {
	sorted := slices.Clone(c.sequences)
	slices.SortFunc(sorted, func(a, b *Sequence) int {
		if a.running != b.running {
			if a.running {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.lastUse, a.lastUse)
	})
	return sorted
}

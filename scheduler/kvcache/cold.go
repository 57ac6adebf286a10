// SPDX-License-Identifier: MIT

package kvcache

import (
	"fmt"
	"slices"
	"time"
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
	ID      uint64
	Tokens  int           // of the whole conversation
	Common  int           // that it begins with and the request, too, as far as digests tell
	Usable  int           // of Common, those that come back: a memory that cannot be cut does so at checkpoints
	Reading time.Duration // until it is read and copied, with what is to be read before
	Prefill time.Duration // that computing all its tokens took; 0: not known
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

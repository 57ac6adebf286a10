// SPDX-License-Identifier: MIT

package kvcache

// Claim is what a request wants of the cache.
type Claim struct {
	Tokens    []Token // its prompt and what it has generated so far; never empty
	PromptLen int     // how many of Tokens are its prompt
	Scope     Scope   // it reuses only what was computed alike
	Reuse     bool    // whether it reuses anything

	Resumed   bool // it was preempted
	Continued bool // what Sequence.Continued said before that
}

// Acquire gives a request a sequence with the longest prefix of its tokens that is found: an idle
// sequence is taken over if that loses little, else the prefix is shared into another. The archive
// is looked at, too.
//
// There is no sequence while the request has to wait: for a copy, or because every sequence has a
// request.
func (c *Cache) Acquire(r Claim) (*Sequence, Wait) {
	for c.copy.kind == savingAhead || c.continueCopy() {
		parts := c.parting(r) // before what it shares is cut
		s, w := c.tryAcquire(r)
		switch w {
		case WaitCopy:
			continue // it may be done at once
		case WaitRoom:
			return nil, c.waits(w)
		}
		if s.prompt = r.PromptLen; r.Resumed {
			s.continued = r.Continued
		}
		c.wantCheckpoints(s, r, parts)
		return s, WaitNone
	}
	return nil, c.waits(WaitCopy)
}

// Release makes the sequence of a request that has ended or was preempted idle. Its cells stay as
// prefix cache.
func (c *Cache) Release(s *Sequence) {
	s.running, s.prefill, c.saveAheadDue = false, 0, true
	c.touch(s)
	s.name = c.uses
	c.came(&c.roomAwaited)
}

// tryAcquire either gives the request its sequence or begins the next copy that leads there.
func (c *Cache) tryAcquire(r Claim) (*Sequence, Wait) {
	var best *Sequence
	common := 0
	c.archive.wanted = nil
	if r.Reuse {
		best, common = c.longestPrefix(r.Tokens, r.Scope)
		if c.restore(r, best, common) {
			return nil, WaitCopy
		}
	}
	if best != nil && !best.running && (best.dropped || 2*common >= best.border(len(best.tokens))) {
		return c.takeOver(best, common, r.Scope), WaitNone
	}
	prefill := len(r.Tokens) - common
	s, kept := c.place(r, best, prefill)
	switch {
	case s == nil && (best == nil || best.running):
		return nil, WaitRoom
	case s == nil: // every sequence but the best has a request
		return c.takeOver(best, common, r.Scope), WaitNone
	case kept == 0 && !c.evict(s):
		return nil, WaitCopy
	}
	s.scope, s.prompt, s.continued, s.prefill = r.Scope, 0, false, prefill
	if (common >= MinShared || kept > 0) && c.share(best, s, common) {
		return nil, WaitCopy // it is taken over when that is done
	}
	s.prefill = len(r.Tokens)
	c.claim(s)
	return s, WaitNone
}

// place chooses an idle sequence for a request, best excepted; nil: there is none. One that was
// dropped is cut to what it has of the request's tokens and keeps so many; any other is to be
// evicted.
func (c *Cache) place(r Claim, best *Sequence, prefill int) (s *Sequence, kept int) {
	if best != nil {
		if s, kept = c.sibling(r, best); s != nil {
			return s, c.Truncate(s, kept)
		}
	}
	return c.choose(prefill, except(best)), 0
}

// takeOver gives a request an idle sequence of which it keeps the beginning.
func (c *Cache) takeOver(s *Sequence, common int, scope Scope) *Sequence {
	if s == c.copy.sequence {
		c.cancelSaveAhead()
	}
	s.continued = s.prompt > 0 && common >= s.prompt
	c.Truncate(s, common)
	s.scope = scope
	c.claim(s)
	return s
}

// claim marks a sequence as a request's own. Nothing that may panic comes after it: nobody would
// release the sequence.
func (c *Cache) claim(s *Sequence) {
	s.running, s.dropped, s.name, c.saveAheadDue = true, false, 0, true
	s.unlink()
	c.touch(s)
}

// restore begins to bring a request's prefix back from the archive if that has enough more of it
// than found, which best holds. It reports whether there is something to wait for. If more than
// half of an entry is restored, the conversation goes on elsewhere, and the entry is dropped.
func (c *Cache) restore(r Claim, best *Sequence, found int) bool {
	e, common := c.archive.longestPrefix(r.Tokens, r.Scope)
	if common < found+minSaved {
		return false
	}
	s := c.choose(0, except(best))
	n := common
	if !c.archive.cuttable(e, n) { // all of it comes back, and the sequence is cut at a checkpoint
		n = len(e.tokens)
	}
	if s == nil || !c.HasRoom(n) {
		return false
	}
	c.archive.wanted = e
	c.archive.touch(e)
	if !c.evict(s) {
		return true
	}
	if !c.Reserve(n) {
		return c.Copying() && c.copy.kind != savingAhead
	}
	c.cancelSaveAhead()
	if err := c.change(s, func() error { return c.archive.states.RestoreState(s.id, e.state, e.positions(n)) }); err != nil {
		c.Repair(s)
		return false
	}
	c.Append(s, e.tokens[:n])
	c.checkpoints.hold(&s.conversation, e.checkpoints, n)
	s.scope, s.prefill = e.scope, 0
	s.prompt, s.continued = min(e.prompt, n), e.continued
	c.touch(s)
	c.copy = copyInProgress{kind: restoring, sequence: s}
	if s.name = 0; n == len(e.tokens) {
		s.name = e.name
	}
	if 2*common >= len(e.tokens) {
		c.archive.drop(e)
	}
	return true
}

// SPDX-License-Identifier: MIT

package kvcache

import (
	"cmp"
	"slices"
)

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
		parts := c.mostInCommon(r) // before what it shares is cut
		s, w := c.tryAcquire(r)
		switch w {
		case WaitCopy:
			continue // if the copy is done at once, the next try finds what it brought; else the loop ends
		case WaitRoom:
			return nil, c.tellToWait(w)
		}
		if s.prompt = r.PromptLen; r.Resumed {
			s.continued = r.Continued
		}
		c.wantCheckpoints(s, r, parts)
		return s, WaitNone
	}
	return nil, c.tellToWait(WaitCopy)
}

// Release makes the sequence of a request that has ended or was preempted idle. Its cells stay as
// prefix cache.
func (c *Cache) Release(s *Sequence) {
	s.running, s.prefill, c.saveAheadDue = false, 0, true
	if c.touch(s); c.cold != nil {
		s.rests = c.now()
	}
	s.name = c.uses
	c.noteArrival(&c.roomAwaited)
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
	if best != nil && !best.running && (best.dropped || 2*common >= best.lastBorder(len(best.tokens))) {
		return c.takeOver(best, common, r.Scope), WaitNone
	}
	prefill := len(r.Tokens) - common
	s, kept := c.chooseOther(r, best, prefill)
	switch {
	case s == nil && (best == nil || best.running):
		return nil, WaitRoom
	case s == nil: // every sequence but the best has a request
		return c.takeOver(best, common, r.Scope), WaitNone
	case kept == 0 && !c.evict(s):
		return nil, WaitCopy
	}
	// Set before a copy begins: when it is done, the next try takes the sequence over as it is.
	s.scope, s.prompt, s.continued, s.prefill = r.Scope, 0, false, prefill
	if (common >= MinShared || kept > 0) && c.share(best, s, common) {
		return nil, WaitCopy
	}
	s.prefill = len(r.Tokens) // it shares nothing
	c.claim(s)
	return s, WaitNone
}

// chooseOther chooses an idle sequence for a request, best excepted; nil: there is none. One that
// was dropped is cut to the `kept` tokens that it shares with the request; any other is to be
// evicted.
func (c *Cache) chooseOther(r Claim, best *Sequence, prefill int) (s *Sequence, kept int) {
	if best != nil {
		if s, kept = c.findDropped(r, best); s != nil {
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
	if err := c.changeMemory(s, func() error { return c.archive.states.RestoreState(s.id, e.state, e.positions(n)) }); err != nil {
		c.Repair(s)
		return false
	}
	c.Append(s, e.tokens[:n])
	c.checkpoints.hold(&s.conversation, e.checkpoints, n)
	s.scope, s.prefill = e.scope, 0
	s.prompt, s.continued = min(e.prompt, n), e.continued
	c.touch(s)
	c.copy = copyInProgress{kind: restoring, sequence: s}
	if s.name, s.dropped = 0, false; n == len(e.tokens) {
		s.name, s.offered = e.name, e.offered
	}
	if 2*common >= len(e.tokens) {
		c.archive.drop(e)
	}
	return true
}

// MinShared is the shortest prefix that is shared: a memory whose sequences have cells of their
// own copies it, and a token at the beginning of every prompt is not worth that. A short question
// that is asked again is: it does not take over the sequence of the first time, whose answer is
// longer than itself. (Two CPUs computed 21 tokens of a 135M model in 72 ms, and copied 20 and
// computed one in 15.)
const MinShared = 8

// LongestPrefix is how many tokens of a request it could use of a sequence or of the archive, its
// last one not counted.
func (c *Cache) LongestPrefix(tokens []Token, scope Scope) int {
	_, cached := c.longestPrefix(tokens, scope)
	_, archived := c.archive.longestPrefix(tokens, scope)
	return max(cached, archived)
}

// SharedPrefix is how many tokens a request would share with a running one: it needs no cells for
// them. It is 0 if the longest prefix is in an idle sequence, since HasRoom counts the cells of
// those.
func (c *Cache) SharedPrefix(tokens []Token, scope Scope) int {
	if best, common := c.longestPrefix(tokens, scope); best != nil && best.running {
		return common
	}
	return 0
}

// Shares reports whether a request gains anything by waiting for a prefix that another one
// computes. A memory that cannot share a part of what requests have, as with one state for all of
// it, does so only at checkpoints.
func (c *Cache) Shares() bool {
	k := &c.checkpoints
	if !k.takes || c.TakesCheckpoints() || !c.memory.Shares() {
		return c.memory.Shares()
	}
	return !slices.ContainsFunc(c.sequences, func(s *Sequence) bool {
		n := s.lastBorder(len(s.tokens) - 1)
		return s.running && n > 0 && !k.memory.Shareable(s.id, s.positions(n))
	})
}

// longestPrefix finds the sequence of which a request can use most; among equals an idle one,
// which can be taken over, and of those the one that loses least.
func (c *Cache) longestPrefix(tokens []Token, scope Scope) (best *Sequence, common int) {
	tokens = reusable(tokens)
	for _, s := range c.sequences {
		n := c.usable(s, s.common(tokens, scope))
		if n > common || n == common && n > 0 && !s.running && (best.running || len(s.tokens) < len(best.tokens)) {
			best, common = s, n
		}
	}
	return best, common
}

// reusable leaves out a request's last token: it is computed in any case, for the logits after it.
func reusable(tokens []Token) []Token { return tokens[:len(tokens)-1] }

// What a prompt has in common with others is counted in steps, each of which leaves the same or
// less: the tokens of two lists (CommonPrefix), those of them that the same adapters compute
// (Scope.Common), those up to the last whole piece (conversation.common), and those to which the
// memory can be cut or that it can share (usable). longestPrefix finds the sequence, or the entry
// of the archive, with most usable tokens; LongestPrefix asks both, SharedPrefix only sequences
// that requests have. mostInCommon counts what is not usable, too: there a checkpoint would help.

// CommonPrefix is how many tokens a and b have in common from the beginning.
func CommonPrefix(a, b []Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// share makes dst, which is empty or has less of the same, begin with the first n tokens of src.
// It reports whether it does.
func (c *Cache) share(src, dst *Sequence, n int) bool {
	c.cancelSaveAhead()
	has := len(dst.tokens)
	if !c.shareMemory(src, dst, n) {
		if has > 0 {
			c.Repair(dst)
		}
		return false
	}
	dst.name, dst.dropped = 0, false
	dst.tokens = append(dst.tokens, src.tokens[has:n]...)
	c.shareCells(src, dst, has, n)
	dst.addGrids(&src.conversation, n)
	c.checkpoints.hold(&dst.conversation, src.checkpoints, n)
	c.touch(src)
	c.touch(dst)
	c.copy = copyInProgress{kind: sharing, sequence: dst}
	return true
}

// shareMemory is share for the memory alone, at a checkpoint if it cannot share src there as it is.
func (c *Cache) shareMemory(src, dst *Sequence, n int) bool {
	k, at := c.checkpoints.memory, src.positions(n)
	if k == nil || k.Shareable(src.id, at) {
		got := 0
		_ = c.changeMemory(dst, func() error { got = c.memory.Share(src.id, dst.id, at); return nil })
		return got == at
	}
	p := src.lastCheckpoint(n)
	return c.memory.Shares() && p != nil && p.n == n &&
		c.changeMemory(dst, func() error { return k.RestoreCheckpoint(src.id, dst.id, p.state, at) }) == nil
}

// A request may have several sequences that begin alike, its branches. Acquire forks one from
// another: it shares what they have in common. Where the memory copies cells for that, it need not
// copy all of them: a branch that was dropped has most of them already, and only the rest is
// added.

// Drop makes the sequence of a branch idle that is not to go on. Unlike one that was released it
// is evicted before all others, never saved, and the first choice for what begins as it does.
func (c *Cache) Drop(s *Sequence) {
	c.Release(s)
	s.name, s.dropped = 0, true
}

// ForksAtEnds reports whether the memory shares only what a sequence ends with, as recurrent
// states: a fork that waits until the other has gone on shares nothing.
func (c *Cache) ForksAtEnds() bool { return c.checkpoints.takes && c.memory.Shares() }

// findDropped finds the dropped sequence with the most tokens of a request, as far as the memory
// can cut it there; nil: there is none. It has fewer than best, whose other cells it is to get.
func (c *Cache) findDropped(r Claim, best *Sequence) (found *Sequence, common int) {
	if c.checkpoints.takes { // such a memory shares nothing with what holds something
		return nil, 0
	}
	for _, s := range c.sequences {
		if !s.dropped || s.running || s.unsure || s == best || s == c.copy.sequence {
			continue
		}
		if n := c.usable(s, s.common(reusable(r.Tokens), r.Scope)); n > common {
			found, common = s, n
		}
	}
	return found, common
}

// minSaved is the fewest unshared cells that are cheaper to copy than to compute again.
const minSaved = 64

// Reserve evicts idle sequences, the least recently used first, until n cells are free. It reports
// whether they are. If they are not and a copy is in progress, they may be when that is done.
func (c *Cache) Reserve(n int) bool {
	for c.free < n {
		if c.copy.kind != savingAhead && !c.continueCopy() {
			c.tellToWait(WaitCopy)
			return false
		}
		victim := c.leastRecent()
		switch {
		case victim != nil:
			c.evict(victim)
		case c.copy.kind == savingAhead: // the sequence that is being saved may be evicted, too
			c.cancelSaveAhead()
		default:
			return false
		}
	}
	return true
}

// EvictIdle empties every idle sequence, however long that takes, and reports whether there was
// one to empty.
func (c *Cache) EvictIdle() bool {
	c.finishCopy()
	found := false
	for victim := c.leastRecent(); victim != nil; victim = c.leastRecent() {
		c.evict(victim)
		c.finishCopy()
		found = true
	}
	return found
}

// leastRecent is the idle sequence that was used least recently of those that hold something, or
// may, and are not being copied; nil: there is none.
func (c *Cache) leastRecent() (oldest *Sequence) {
	for _, s := range c.sequences {
		if !s.running && s != c.copy.sequence && (len(s.tokens) > 0 || s.unsure) && (oldest == nil || s.recency() < oldest.recency()) {
			oldest = s
		}
	}
	return oldest
}

// evict empties an idle sequence, after it was saved if the archive is to have it. It reports
// whether it is empty; else it is being saved.
func (c *Cache) evict(s *Sequence) bool {
	switch {
	case s == c.copy.sequence && (c.copy.kind != savingAhead || c.copy.entry != nil): // it is being saved ahead, and waited for from now on
		c.copy.kind = saving
		if !c.continueCopy() {
			return false
		}
	case c.worthSaving(s):
		c.cancelSaveAhead()
		if c.save(s, saving) && !c.continueCopy() {
			return false
		}
	case s == c.copy.sequence: // a copy for the cold store
		c.cancelSaveAhead()
	}
	c.Truncate(s, 0)
	return true
}

// worthSaving reports whether a sequence is to be saved before it is evicted. If it shares most of
// its cells it is not: the others keep those, and restored they would be a copy.
func (c *Cache) worthSaving(s *Sequence) bool {
	if s.isSaved() || c.archive.states == nil {
		return false
	}
	unshared := c.unshared(s)
	return unshared >= minSaved && 2*unshared >= len(s.tokens)
}

// choose picks one of the idle sequences that may be evicted for a request with prefill tokens to
// compute; nil if there is none. The memory chooses if it is a Placer and something runs; else it
// is an empty sequence or, since prefixes matter most, the least recently used.
func (c *Cache) choose(prefill int, may func(*Sequence) bool) *Sequence {
	c.candidates, c.running = c.candidates[:0], c.running[:0]
	for _, s := range c.sequences {
		switch {
		case s.running:
			c.running = append(c.running, RunningSequence{Sequence: s.id, Prefill: s.prefill})
		case may(s):
			c.candidates = append(c.candidates, s)
		}
	}
	switch {
	case len(c.candidates) == 0:
		return nil
	case c.placer == nil || len(c.running) == 0:
		return slices.MinFunc(c.candidates, func(a, b *Sequence) int { return cmp.Compare(a.recency(), b.recency()) })
	}
	slices.SortStableFunc(c.candidates, func(a, b *Sequence) int { return cmp.Compare(a.lastUse, b.lastUse) })
	c.idle = c.idle[:0]
	for _, s := range c.candidates {
		c.idle = append(c.idle, IdleSequence{Sequence: s.id, Saved: s.isSaved()})
	}
	return c.sequences[c.placer.Place(prefill, c.running, c.idle)]
}

// recency orders sequences by their last use; those that are of no use come first, or will be of
// none.
func (s *Sequence) recency() uint64 {
	if s.isUseless() || s.dropped {
		return 0
	}
	return s.lastUse
}

// except is for choose: all sequences but one.
func except(keep *Sequence) func(*Sequence) bool { return func(s *Sequence) bool { return s != keep } }

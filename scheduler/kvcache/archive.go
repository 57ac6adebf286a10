// SPDX-License-Identifier: MIT

package kvcache

import "slices"

// archive holds the states of evicted conversations in RAM: when one of them goes on, only its new
// turn is computed. Its bytes are bounded, as the process has them.
//
// It is a segmented LRU: what was never continued is dropped first, then the least recently used.
// So prompts that are sent once push out each other, however many they are, and no conversation.
type archive struct {
	states      StateMemory // nil: there is no archive
	checkpoints *checkpoints
	budget      int64    // bytes
	bytes       int64    // that entries take, and the one that is being saved
	entries     []*entry // least recently used first
	wanted      *entry   // that a request comes back for: what makes room for it must not push it out; nil: there is none
}

// entry is one conversation in the archive.
type entry struct {
	conversation
	state    State
	bytes    int64
	sequence *Sequence // that holds the same; nil: it was evicted or has changed
}

// maxEntries bounds the entries: each has a memory mapping of its own, of which systems allow a
// process some ten thousand.
const maxEntries = 4096

// save begins to copy a sequence into a new entry, for add or discard. It returns nil if the
// archive does not take it. What is saved ahead drops no other entry that is still in the cache,
// and any entry only while such take less than a quarter of the archive.
func (a *archive) save(s *Sequence, ahead bool) *entry {
	state, err := a.states.SaveState(s.id)
	if err != nil {
		return nil // it will be computed again
	}
	e := &entry{conversation: s.conversation, state: state}
	e.tokens, e.grids, e.digests, e.checkpoints = slices.Clone(s.tokens), slices.Clone(s.grids), slices.Clone(s.digests), nil
	a.checkpoints.hold(&e.conversation, s.checkpoints, len(e.tokens))
	e.bytes = int64(state.Bytes()) + int64(4*cap(e.tokens))
	if e.bytes > a.budget/2 { // one conversation does not push out all others
		a.free(e)
		return nil
	}
	a.dropPrefixes(e)
	for a.bytes+e.bytes > a.budget || len(a.entries) >= maxEntries {
		victim := a.victim()
		if victim == nil || ahead && (victim.sequence != nil || a.cachedBytes()+e.bytes > a.budget/4) {
			a.free(e)
			return nil
		}
		a.drop(victim)
	}
	a.bytes += e.bytes
	return e
}

// add takes an entry whose copy is complete.
func (a *archive) add(e *entry) {
	a.entries = append(a.entries, e)
	a.demote()
}

// discard takes back what save began.
func (a *archive) discard(e *entry) {
	a.bytes -= e.bytes
	a.free(e)
}

// cachedBytes is what those entries take that are still in the cache, too.
func (a *archive) cachedBytes() (bytes int64) {
	for _, e := range a.entries {
		if e.sequence != nil {
			bytes += e.bytes
		}
	}
	return bytes
}

// victim is the entry to drop first; nil: there is none.
func (a *archive) victim() (first *entry) {
	for _, e := range a.entries {
		switch {
		case e == a.wanted:
		case !e.continued:
			return e
		case first == nil:
			first = e
		}
	}
	return first
}

// demote lets the least recently used of the continued conversations compete with the rest when
// those take more than three quarters of the archive: else they would fill it forever.
func (a *archive) demote() {
	protected := int64(0)
	for _, e := range slices.Backward(a.entries) {
		if !e.continued {
			continue
		}
		if protected += e.bytes; protected > a.budget/4*3 {
			e.continued = false
		}
	}
}

// dropPrefixes drops the entries that a longer conversation begins with, since that holds all of
// them, but not the one that is wanted: that may be because the longer one cannot be cut there.
func (a *archive) dropPrefixes(longer *entry) {
	for _, e := range slices.Backward(a.entries) {
		if e != a.wanted && e.common(longer.tokens, longer.scope) == len(e.tokens) {
			a.drop(e)
		}
	}
}

// has reports whether an entry is the same as a conversation, which another sequence may hold, too.
func (a *archive) has(c *conversation) bool {
	return slices.ContainsFunc(a.entries, func(e *entry) bool {
		return len(e.tokens) == len(c.tokens) && e.common(c.tokens, c.scope) == len(c.tokens)
	})
}

// longestPrefix finds the entry of which a request can use most.
func (a *archive) longestPrefix(tokens []Token, scope Scope) (best *entry, common int) {
	tokens = reusable(tokens)
	for _, e := range a.entries {
		if n := a.reach(e, e.common(tokens, scope)); n > common {
			best, common = e, n
		}
	}
	return best, common
}

// touch makes an entry the most recently used one.
func (a *archive) touch(e *entry) {
	i := slices.Index(a.entries, e)
	a.entries = append(slices.Delete(a.entries, i, i+1), e)
}

func (a *archive) drop(e *entry) {
	i := slices.Index(a.entries, e)
	a.entries = slices.Delete(a.entries, i, i+1)
	a.bytes -= e.bytes
	if a.wanted == e {
		a.wanted = nil
	}
	if e.sequence != nil {
		e.sequence.unlink()
	}
	a.free(e)
}

// clear drops everything.
func (a *archive) clear() {
	for len(a.entries) > 0 {
		a.drop(a.entries[0])
	}
}

// free frees what an entry holds. The state's error is dropped: it is gone.
func (a *archive) free(e *entry) {
	a.checkpoints.drop(&e.conversation, 0)
	_ = e.state.Close()
}

// cuttable reports whether the first n tokens of an entry can come back alone.
func (a *archive) cuttable(e *entry, n int) bool {
	k := a.checkpoints.memory
	return k == nil || n == len(e.tokens) || k.StateCuttable(e.state, e.positions(n))
}

// reach is how many of the first n tokens of an entry can come back: alone, or with no more
// others, which are cut off again.
func (a *archive) reach(e *entry, n int) int {
	if n == 0 || a.cuttable(e, n) {
		return n
	}
	if n = e.lastPosition(n); 2*n < len(e.tokens) {
		return 0
	}
	return n
}

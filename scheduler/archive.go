// SPDX-License-Identifier: MIT

package scheduler

import "slices"

// archive keeps the state of conversations whose cells were needed by others, in RAM: when they go on, nothing but the
// new turn is computed. It is bounded in bytes; the least recently used goes first.
type archive struct {
	states StateMemory // nil: the backend has none, and nothing is kept
	budget int64
	used   int64
	kept   []*saved // least recently saved first
	spare  spare
}

// saved is one sequence outside the cache.
type saved struct {
	salt   string // sequence.salt
	tokens []Token
	state  []byte
}

// worthSaving is the fewest unshared cells that are cheaper to copy than to compute again.
const worthSaving = 64

// save keeps a sequence that is about to lose its cells. One that shares most of them is not worth it: what is shared
// stays in the cache, and would come back as a copy of its own.
func (a *archive) save(s *sequence, unshared int) {
	if a.states == nil || unshared < worthSaving || 2*unshared < len(s.tokens) {
		return
	}
	size := a.states.StateSize(s.id)
	if size <= 0 || int64(size) > a.budget/2 { // one conversation does not push out all others
		return
	}
	a.forget(s.tokens, s.salt)
	state := a.spare.take(size)
	for a.used+int64(cap(state)) > a.budget {
		a.drop(0)
	}
	n, err := a.states.SaveState(s.id, state)
	if err != nil {
		return // it will be computed again
	}
	a.kept = append(a.kept, &saved{salt: s.salt, tokens: slices.Clone(s.tokens), state: state[:n]})
	a.used += int64(cap(state))
}

// forget drops what the beginning of a longer conversation left: it is part of that.
func (a *archive) forget(tokens []Token, salt string) {
	for i := len(a.kept) - 1; i >= 0; i-- {
		if k := a.kept[i]; k.salt == salt && commonPrefix(k.tokens, tokens) == len(k.tokens) {
			a.drop(i)
		}
	}
}

func (a *archive) drop(i int) {
	a.used -= int64(cap(a.kept[i].state))
	a.kept = slices.Delete(a.kept, i, i+1)
}

// find is the entry of this salt with the longest common prefix, at most limit positions of it.
func (a *archive) find(tokens []Token, salt string, limit int) (entry, common int) {
	tokens = tokens[:min(limit, len(tokens))]
	entry = -1
	for i, k := range a.kept {
		if k.salt != salt {
			continue
		}
		if n := commonPrefix(k.tokens, tokens); n > common {
			entry, common = i, n
		}
	}
	return entry, common
}

// take removes an entry from the archive.
func (a *archive) take(i int) *saved {
	k := a.kept[i]
	a.drop(i)
	return k
}

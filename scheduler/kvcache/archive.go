// SPDX-License-Identifier: MIT

package kvcache

import "slices"

// archive keeps the state of conversations whose cells were needed by others, in RAM: when they go on, nothing but the
// new turn is computed. It is bounded in bytes, as the process has them.
//
// What nobody came back to goes first, then the least recently used. So prompts that are sent once, however many, push out
// each other and no conversation.
type archive struct {
	states StateMemory // nil: the backend has none, or nothing is to be kept
	budget int64
	used   int64
	kept   []*saved // least recently used first
}

// saved is one sequence outside the cache.
type saved struct {
	salt     string // sequence.salt
	tokens   []Token
	prompt   int  // sequence.prompt
	returned bool // sequence.returned
	state    State
	bytes    int64
	cached   bool // a sequence still holds the same
	gone     bool // it was dropped
}

// worthSaving is the fewest unshared cells that are cheaper to copy than to compute again.
const worthSaving = 64

// mostKept bounds the entries: each has a mapping of its own, of which systems allow a process some ten thousand.
const mostKept = 4096

// save begins to copy a sequence that is about to lose its cells, or ahead of that; add takes it when that is done. Nil: it cannot be.
// What is copied ahead pushes out nothing else that was, and others only where such copies take less than a quarter of the archive.
func (a *archive) save(s *Sequence, ahead bool) *saved {
	state, err := a.states.SaveState(s.id)
	if err != nil {
		return nil // it will be computed again
	}
	k := &saved{salt: s.salt, tokens: slices.Clone(s.tokens), prompt: s.prompt, returned: s.returned, state: state}
	k.bytes = int64(state.Bytes()) + int64(4*cap(k.tokens))
	if k.bytes > a.budget/2 { // one conversation does not push out all others
		k.close()
		return nil
	}
	a.forget(k.tokens, k.salt)
	for a.used+k.bytes > a.budget || len(a.kept) >= mostKept {
		least := a.least()
		if ahead && (least.cached || a.doubled()+k.bytes > a.budget/4) {
			k.close()
			return nil
		}
		a.drop(least)
	}
	a.used += k.bytes
	return k
}

// doubled is how many bytes the entries have that a sequence still holds, too.
func (a *archive) doubled() (bytes int64) {
	for _, k := range a.kept {
		if k.cached {
			bytes += k.bytes
		}
	}
	return bytes
}

// add puts a state into the archive whose bytes save has counted.
func (a *archive) add(k *saved) {
	a.kept = append(a.kept, k)
	a.demote()
}

// abandon takes back what save began.
func (a *archive) abandon(k *saved) {
	a.used -= k.bytes
	k.close()
}

// least is the entry to drop first.
func (a *archive) least() *saved {
	for _, k := range a.kept {
		if !k.returned {
			return k
		}
	}
	return a.kept[0]
}

// demote lets those that somebody came back to long ago compete with the rest, so that they do not fill the archive for ever.
func (a *archive) demote() {
	protected := int64(0)
	for _, k := range slices.Backward(a.kept) {
		if !k.returned {
			continue
		}
		if protected += k.bytes; protected > a.budget/4*3 {
			k.returned = false
		}
	}
}

// forget drops what the beginning of a longer conversation left: it is part of that.
func (a *archive) forget(tokens []Token, salt string) {
	for _, k := range slices.Backward(a.kept) {
		if k.salt == salt && CommonPrefix(k.tokens, tokens) == len(k.tokens) {
			a.drop(k)
		}
	}
}

func (a *archive) drop(k *saved) {
	i := slices.Index(a.kept, k)
	a.used -= k.bytes
	k.gone = true
	a.kept = slices.Delete(a.kept, i, i+1)
	k.close()
}

// close frees the state. What that may report concerns nobody.
func (k *saved) close() { _ = k.state.Close() }

// clear frees everything.
func (a *archive) clear() {
	for len(a.kept) > 0 {
		a.drop(a.kept[0])
	}
}

// find is the entry of this salt with the longest common prefix, at most limit positions of it.
func (a *archive) find(tokens []Token, salt string, limit int) (best *saved, common int) {
	tokens = tokens[:min(limit, len(tokens))]
	for _, k := range a.kept {
		if k.salt != salt {
			continue
		}
		if n := CommonPrefix(k.tokens, tokens); n > common {
			best, common = k, n
		}
	}
	return best, common
}

// touch makes an entry the most recently used one.
func (a *archive) touch(k *saved) {
	i := slices.Index(a.kept, k)
	a.kept = append(slices.Delete(a.kept, i, i+1), k)
}

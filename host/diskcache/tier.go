// SPDX-License-Identifier: MIT

package diskcache

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// Tier is a store as one model has it. It implements kvcache.Cold.
type Tier struct {
	store    *Store
	identity [32]byte
	model    Model
	ends     time.Time // the end of what offers at the model's end may wait for, where EndBy says nothing; zero: there were none
	ended    int       // how many there were
}

var _ kvcache.Cold = (*Tier)(nil)

// Tier opens the part of a store that has the conversations of a model, which is known by what its
// states depend on.
func (s *Store) Tier(identity string, m Model) *Tier {
	t := &Tier{store: s, identity: sha256.Sum256([]byte(identity)), model: m}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[t.identity]++
	return t
}

// Close says that the model is no longer in use.
func (t *Tier) Close() error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.store.open[t.identity]--; t.store.open[t.identity] == 0 {
		delete(t.store.open, t.identity)
	}
	return nil
}

// space is what a conversation is found in: what has computed it, and for whom.
type space struct {
	identity [32]byte
	owner    string
	adapters string // their files; empty: none
	from     int    // kvcache.Scope.From, with adapters
}

// space finds the space of a scope; ok is false where an adapter is gone.
func (t *Tier) space(scope kvcache.Scope) (in space, ok bool) {
	in = space{identity: t.identity, owner: t.store.key.owner(scope.Salt)}
	if scope.Adapters == "" {
		return in, true
	}
	var err error
	in.adapters, err = t.model.AdapterFiles(scope.Adapters)
	in.from = scope.From
	return in, err == nil
}

// Find implements kvcache.Cold.
func (t *Tier) Find(digests []kvcache.Digest, scope kvcache.Scope) (found kvcache.Stored, ok bool) {
	in, ok := t.space(scope)
	if !ok {
		return found, false
	}
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	e, common := s.index.find(in, digests)
	if e == nil {
		return found, false
	}
	e.used = time.Now() // whether it is read, or the cache has it, too
	seconds := float64(s.reading+e.bytes)/s.rate + float64(e.bytes)/copyRate
	return kvcache.Stored{ID: e.id, Tokens: e.about.Tokens, Common: common, Usable: e.usableTokens(common), Prefill: e.about.Prefill,
		Reading: time.Duration(seconds * float64(time.Second))}, true
}

// Fetch implements kvcache.Cold.
func (t *Tier) Fetch(id uint64, scope kvcache.Scope, done func(*kvcache.Saved, error)) {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.index.byID[id]
	if e == nil || s.closing {
		go done(nil, errGone)
		return
	}
	s.reading += e.bytes
	s.fetches = append(s.fetches, &fetch{e, t.model, scope, done})
	s.tell()
}

var errGone = errors.New("the conversation is no longer on the disk")

// Offer implements kvcache.Cold.
func (t *Tier) Offer(saved *kvcache.Saved, end bool) (more bool) {
	keepFew(saved)
	o := &offer{saved: saved, end: end, bytes: int64(saved.State.Bytes())}
	for _, p := range saved.Checkpoints {
		o.bytes += int64(p.State.Bytes())
	}
	in, ok := t.space(saved.Scope)
	o.in = in
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if end { // what was used last comes first
		t.ends = cmp.Or(t.ends, time.Now().Add(partingTime))
		t.ended++
		o.used = t.ends.Add(-partingTime - time.Duration(t.ended)*time.Millisecond)
	}
	until := cmp.Or(s.until, t.ends)
	full := func() bool { return s.held > 0 && s.held+o.bytes > s.options.Memory }
	for end && ok && full() && time.Now().Before(until) {
		s.wait(until)
	}
	if more = !end || time.Now().Before(until); !ok || !more || s.closing || full() || o.bytes > s.options.Bytes/2 {
		s.stats.Dropped++
		_ = saved.Close() // it is only a copy
		return more
	}
	s.held += o.bytes
	s.offers = append(s.offers, o)
	s.tell()
	return more
}

// keepFew keeps the checkpoints of a conversation that are likely to be asked for: the first, where
// prompts have parted from one another, the last of the prompt, and the last.
func keepFew(saved *kvcache.Saved) {
	last := len(saved.Checkpoints) - 1
	ofPrompt := -1
	for i, p := range saved.Checkpoints {
		if p.N <= saved.Prompt {
			ofPrompt = i
		}
	}
	kept := saved.Checkpoints[:0:0]
	for i, p := range saved.Checkpoints {
		if i == 0 || i == ofPrompt || i == last {
			kept = append(kept, p)
		} else {
			_ = p.State.Close() // it is only a copy
		}
	}
	saved.Checkpoints = kept
}

// Forget implements kvcache.Cold.
func (t *Tier) Forget(id uint64) {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.index.byID[id]; e != nil {
		s.index.drop(e)
		s.remove(e)
	}
}

// Erase implements kvcache.Cold.
func (t *Tier) Erase(digests []kvcache.Digest, scope kvcache.Scope) {
	in, ok := t.space(scope)
	if !ok {
		return
	}
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	same := func(other []kvcache.Digest) bool {
		n := min(len(digests), len(other))
		return n > 0 && slices.Equal(digests[:n], other[:n])
	}
	for _, e := range slices.Clone(s.index.sameBeginning(in, digests)) {
		if same(e.digests) {
			s.index.drop(e)
			s.remove(e)
		}
	}
	for _, o := range append(slices.Clone(s.offers), s.writing) {
		if o != nil && o.in == in && same(o.digests()) {
			o.erased = true
		}
	}
}

// offer is a conversation that is to be written.
type offer struct {
	saved  *kvcache.Saved
	in     space
	end    bool
	used   time.Time // zero: now
	bytes  int64     // of memory
	erased bool      // nobody is to find it
}

// digests computes the digests of the conversation's blocks. Pieces have the same ones in any
// process.
func (o *offer) digests() []kvcache.Digest {
	words := o.saved.Tokens
	if len(o.saved.Pieces) > 0 {
		words = slices.Clone(words)
		piece.Words(words, o.saved.Pieces)
	}
	return kvcache.Digests(words)
}

// fetch is a conversation that is to be read.
type fetch struct {
	entry *entry
	model Model
	scope kvcache.Scope
	done  func(*kvcache.Saved, error)
}

// SPDX-License-Identifier: MIT

package schedulertest

import (
	"errors"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// Cold is a kvcache.Cold in main memory, for tests of one goroutine: what is fetched comes with
// Deliver.
type Cold struct {
	Reading  time.Duration // that each conversation is said to take
	Refuses  func() bool   // whether the next conversation that is offered is not kept; nil: all are
	Offered  int           // conversations, so far
	Ended    int           // of them, at the end
	Fetched  int           // conversations, so far
	backend  *Backend
	kept     []keptCold
	fetching []func()
	last     uint64
}

type keptCold struct {
	id      uint64
	saved   *kvcache.Saved
	digests []kvcache.Digest
}

// NewCold makes an empty one for a backend.
func NewCold(b *Backend) *Cold { return &Cold{backend: b} }

// Find implements kvcache.Cold.
func (c *Cold) Find(digests []kvcache.Digest, scope kvcache.Scope) (best kvcache.Stored, ok bool) {
	for _, k := range c.kept {
		n := 0
		for n < min(len(digests), len(k.digests)) && digests[n] == k.digests[n] {
			n++
		}
		if n == 0 || k.saved.Scope != scope {
			continue
		}
		found := kvcache.Stored{ID: k.id, Tokens: len(k.saved.Tokens), Common: n * kvcache.BlockTokens, Reading: c.Reading, Prefill: k.saved.Prefill}
		if found.Usable = found.Common; !k.saved.Cuttable && n < len(k.digests) {
			found.Usable = 0
			for _, p := range k.saved.Checkpoints {
				if p.N <= found.Common {
					found.Usable = p.N
				}
			}
		}
		if !ok || found.Usable > best.Usable || found.Usable == best.Usable && found.Common > best.Common {
			best, ok = found, true
		}
	}
	return best, ok
}

var errGone = errors.New("the conversation is gone")

// Fetch implements kvcache.Cold.
func (c *Cold) Fetch(id uint64, _ kvcache.Scope, done func(*kvcache.Saved, error)) {
	c.Fetched++
	c.fetching = append(c.fetching, func() {
		i := slices.IndexFunc(c.kept, func(k keptCold) bool { return k.id == id })
		if i < 0 {
			done(nil, errGone)
			return
		}
		saved := *c.kept[i].saved
		saved.State, saved.Checkpoints = saved.State.Keep(), slices.Clone(saved.Checkpoints)
		for n := range saved.Checkpoints {
			saved.Checkpoints[n].State = saved.Checkpoints[n].State.Keep()
		}
		done(&saved, nil)
	})
}

// Deliver ends what is being fetched, and reports whether something was.
func (c *Cold) Deliver() bool {
	fetching := c.fetching
	c.fetching = nil
	for _, f := range fetching {
		f()
	}
	return len(fetching) > 0
}

// Offer implements kvcache.Cold.
func (c *Cold) Offer(s *kvcache.Saved, end bool) (more bool) {
	if c.Offered++; end {
		c.Ended++
	}
	if c.Refuses != nil && c.Refuses() {
		_ = s.Close() // it is only a copy
		return true
	}
	c.last++
	c.kept = append(c.kept, keptCold{c.last, s, kvcache.DigestsWith(s.Tokens, c.backend.Pieces)})
	return true
}

// Forget implements kvcache.Cold.
func (c *Cold) Forget(id uint64) {
	c.drop(func(k keptCold) bool { return k.id == id })
}

// Erase implements kvcache.Cold.
func (c *Cold) Erase(digests []kvcache.Digest, scope kvcache.Scope) {
	c.drop(func(k keptCold) bool {
		n := min(len(digests), len(k.digests))
		return n > 0 && k.saved.Scope == scope && slices.Equal(digests[:n], k.digests[:n])
	})
}

// Clear drops everything.
func (c *Cold) Clear() { c.drop(func(keptCold) bool { return true }) }

// Kept is how many conversations there are, and how many bytes their states have.
func (c *Cold) Kept() (n, bytes int) {
	for _, k := range c.kept {
		bytes += k.saved.State.Bytes()
		for _, p := range k.saved.Checkpoints {
			bytes += p.State.Bytes()
		}
	}
	return len(c.kept), bytes
}

func (c *Cold) drop(which func(keptCold) bool) {
	c.kept = slices.DeleteFunc(c.kept, func(k keptCold) bool {
		if which(k) {
			_ = k.saved.Close() // it is only a copy
			return true
		}
		return false
	})
}

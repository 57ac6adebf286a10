// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// Load is how busy a scheduler is and what it has cached: what a router needs that chooses among
// replicas. Nobody changes what it holds.
type Load struct {
	At      time.Time // when it was so
	Slots   int
	Running int
	Waiting int       // requests without a slot, those of this moment included that no tick has seen
	Oldest  time.Time // when the one that waits longest for its first slot was submitted; zero: none waits

	Cells       int // KV cells
	CellsUsed   int // that hold something
	CellsCached int // of CellsUsed, held by idle sequences alone

	Tokens   TokenCounts      // so far
	Rates    TokenRates       // over the last seconds
	Adapters []AdapterLoad    // that requests have, by key
	Prefixes []kvcache.Prefix // see kvcache.Cache.Prefixes
}

// AdapterLoad is how many requests have a set of adapters.
type AdapterLoad struct {
	Key              string
	Running, Waiting int
}

const (
	loadAge      = 50 * time.Millisecond // so long a look at the load is good for others
	loadPatience = 20 * time.Millisecond // so long who asks waits for a newer look than the last one
	mostDigests  = 1 << 14               // in a look
)

// loadLook is the last look at the load, which all callers share: they cost the tick one look in
// loadAge, however many they are.
type loadLook struct {
	mu   sync.Mutex
	last *Load         // nil: nobody has asked
	next chan struct{} // closed when the tick has looked; nil: it is not asked to
}

// Load tells how busy the scheduler is. A tick looks, between passes; while a long one computes,
// the look before it is told. Errors: the context's, ErrClosed, and one if the tick could not
// look.
func (s *Scheduler) Load(ctx context.Context) (Load, error) {
	last, next, err := s.askForLoad()
	if err != nil {
		return Load{}, err
	}
	if next != nil {
		var patience <-chan time.Time
		if last != nil {
			timer := time.NewTimer(loadPatience)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-next:
			s.look.mu.Lock()
			last = s.look.last
			s.look.mu.Unlock()
			if last == nil {
				return Load{}, errNoLook
			}
		case <-patience:
		case <-ctx.Done():
			return Load{}, ctx.Err()
		}
	}
	load := *last
	load.Waiting = max(0, s.inbox.count()-load.Running)
	return load, nil
}

// askForLoad returns the last look, and if that is too old, what is closed after the next one.
func (s *Scheduler) askForLoad() (last *Load, next <-chan struct{}, err error) {
	l := &s.look
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && s.config.Clock().Sub(l.last.At) < loadAge {
		return l.last, nil, nil
	}
	if l.next == nil {
		next := make(chan struct{})
		look := func(s *Scheduler) {
			defer close(next) // it may panic
			s.lookAtLoad()
		}
		if !s.inbox.post(look) {
			return nil, nil, ErrClosed
		}
		l.next = next
	}
	return l.last, l.next, nil
}

// lookAtLoad makes the next look. The tick calls it. If it panics, the previous look stays, and the
// next call makes the tick try again.
func (s *Scheduler) lookAtLoad() {
	var load *Load
	defer func() {
		s.look.mu.Lock()
		defer s.look.mu.Unlock()
		s.look.next = nil
		if load != nil {
			s.look.last = load
		}
	}()
	load = s.load()
}

// errNoLook is told where the first look has panicked, which the log tells of.
var errNoLook = errors.New("the scheduler could not look at its load")

func (s *Scheduler) load() *Load {
	now := s.config.Clock()
	l := &Load{At: now, Slots: len(s.slots), Running: len(s.slots) - s.freeSlots(), Cells: s.limits.Cells, CellsUsed: s.limits.Cells - s.cache.Free(),
		CellsCached: s.cache.Evictable(), Tokens: s.rates.total, Rates: s.rates.over(now), Prefixes: s.cache.Prefixes(mostDigests)}
	for _, j := range s.running {
		if a := l.adapters(j); a != nil {
			a.Running++
		}
	}
	for _, j := range s.queue.jobs {
		if a := l.adapters(j); a != nil {
			a.Waiting++
		}
		if submitted := j.times.submitted; !j.started && (l.Oldest.IsZero() || submitted.Before(l.Oldest)) {
			l.Oldest = submitted
		}
	}
	slices.SortFunc(l.Adapters, func(a, b AdapterLoad) int { return strings.Compare(a.Key, b.Key) })
	return l
}

// adapters is where a job's adapters are counted; nil: it has none.
func (l *Load) adapters(j *job) *AdapterLoad {
	if j.scope.Adapters == "" {
		return nil
	}
	i := slices.IndexFunc(l.Adapters, func(a AdapterLoad) bool { return a.Key == j.scope.Adapters })
	if i < 0 {
		i = len(l.Adapters)
		l.Adapters = append(l.Adapters, AdapterLoad{Key: j.scope.Adapters})
	}
	return &l.Adapters[i]
}

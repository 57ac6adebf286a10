// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// A queued job whose prompt begins as a conversation in the cold store waits while that is read,
// if that takes at most half as long as computing it. Others go before it meanwhile. If it takes
// twice as long as was expected, and an eighth of what computing takes, the job goes on without.

const (
	// mostThawed is how many conversations are read at a time, or wait in memory until their job
	// has a slot.
	mostThawed = 2
	// thawChunk is how many tokens a pass is taken to compute where a prompt is computed instead.
	thawChunk = 512
	// One part in latePart of the time for computing a prompt may be lost if the conversation comes
	// too late. How late it was is known the next time.
	latePart = 8
	// thawSlack is how much later than expected a conversation may come besides, however small.
	thawSlack = 100 * time.Millisecond
)

// thaw is a conversation that is read from the cold store, for one job or several.
type thaw struct {
	stored   kvcache.Stored
	scope    kvcache.Scope
	longest  []Token   // of the job that can use most; nil: the first of them can
	waiting  int       // jobs
	deadline time.Time // after which they go on without it
	begun    bool
	over     bool           // it is read, or could not be
	saved    *kvcache.Saved // nil: it is not there yet, was restored, or is of no use
}

// tier is the cold store as the cache has it.
type tier struct {
	kvcache.Cold
	s *Scheduler
}

// cold is the cold store for a cache; nil: there is none.
func (s *Scheduler) cold() kvcache.Cold {
	if s.config.Cold == nil {
		return nil
	}
	return tier{s.config.Cold, s}
}

// Offer hands on a conversation with what computing it takes here. A backend that was lost has
// copied nothing.
func (t tier) Offer(saved *kvcache.Saved, end bool) (more bool) {
	if t.s.backendLost() != nil {
		_ = saved.Close()
		return false
	}
	saved.Computing = t.s.estimator.Prompt(0, len(saved.Tokens), thawChunk)
	return t.Cold.Offer(saved, end)
}

// awaitsThaw reports whether a queued job waits for the cold store, which it asks the first time.
func (s *Scheduler) awaitsThaw(j *job, now time.Time) bool {
	if !j.sought {
		j.sought = true
		s.seekThaw(j, now)
	}
	t := j.thaw
	switch {
	case t == nil || t.over:
		return false
	case !now.Before(t.deadline):
		s.dropThaw(j)
		return false
	}
	s.tickAt(t.deadline)
	return true
}

// seekThaw looks for the beginning of a job's prompt in the cold store, and has it read if that is
// far quicker than computing it.
func (s *Scheduler) seekThaw(j *job, now time.Time) {
	if len(j.digests)*kvcache.BlockTokens < s.config.LeastCold || j.started {
		return
	}
	stored, ok := s.config.Cold.Find(j.digests, j.scope)
	if !ok {
		return
	}
	have := s.cache.LongestPrefix(j.drawer.answer.Expected(), j.scope)
	if stored.Usable < have+s.config.LeastCold {
		return
	}
	if i := slices.IndexFunc(s.thaws, func(t *thaw) bool { return t.stored.ID == stored.ID && t.scope == j.scope && t.deadline.After(now) }); i >= 0 {
		t := s.thaws[i]
		if t.waiting++; stored.Usable > t.stored.Usable {
			t.stored.Usable, t.longest = stored.Usable, slices.Clone(j.drawer.answer.Expected())
		}
		j.thaw = t
		return
	}
	prefill := s.estimator.Prompt(have, stored.Usable, thawChunk)
	if prefill == 0 { // nothing was computed yet
		prefill = stored.Computing / time.Duration(max(stored.Tokens, 1)) * time.Duration(stored.Usable-have)
	}
	for _, t := range s.thaws {
		if !t.begun {
			stored.Reading += t.stored.Reading
		}
	}
	if 2*stored.Reading > prefill {
		return
	}
	j.thaw = &thaw{stored: stored, scope: j.scope, waiting: 1, deadline: now.Add(max(2*stored.Reading, prefill/latePart) + thawSlack)}
	s.thaws = append(s.thaws, j.thaw)
	s.beginThaws()
}

// beginThaws has the next conversations read, as many as may be in memory.
func (s *Scheduler) beginThaws() {
	begun := 0
	for _, t := range s.thaws {
		if !t.begun && begun < mostThawed {
			t.begun = true
			s.config.Cold.Fetch(t.stored.ID, t.scope, func(saved *kvcache.Saved, err error) {
				if !s.inbox.post(func(s *Scheduler) { s.thawed(t, saved, err) }) && saved != nil {
					_ = saved.Close() // nobody wants it any more
				}
			})
		}
		if t.begun {
			begun++
		}
	}
}

// thawed takes in a conversation that was read.
func (s *Scheduler) thawed(t *thaw, saved *kvcache.Saved, err error) {
	t.over = true
	switch {
	case err != nil:
	case s.checkSaved(saved) != nil:
		s.config.Cold.Forget(t.stored.ID)
		_ = saved.Close()
	default:
		t.saved = saved
	}
	s.tidyThaw(t)
}

// useThaw begins to restore what was read for a job. It reports false while that waits for a copy.
func (s *Scheduler) useThaw(j *job) bool {
	t := j.thaw
	if t == nil {
		return true
	}
	if t.saved != nil {
		longest := t.longest
		if longest == nil {
			longest = j.drawer.answer.Expected()
		}
		wait, err := s.cache.Thaw(t.saved, kvcache.Claim{Tokens: longest, Scope: j.scope})
		if wait == kvcache.WaitCopy {
			return false
		}
		if err != nil {
			s.config.Cold.Forget(t.stored.ID)
		}
		_ = t.saved.Close() // its error is nothing to the job
		t.saved = nil
	}
	s.dropThaw(j)
	return true
}

// dropThaw has a job not wait for the cold store, or need what it has read.
func (s *Scheduler) dropThaw(j *job) {
	t := j.thaw
	if t == nil {
		return
	}
	j.thaw = nil
	t.waiting--
	s.tidyThaw(t)
}

// tidyThaw forgets a conversation that nobody waits for, once it was read, and one that is of no
// use any more.
func (s *Scheduler) tidyThaw(t *thaw) {
	if t.waiting == 0 && t.saved != nil {
		_ = t.saved.Close()
		t.saved = nil
	}
	if t.saved != nil || t.begun && !t.over || !t.begun && t.waiting > 0 {
		return
	}
	s.thaws = slices.DeleteFunc(s.thaws, func(other *thaw) bool { return other == t })
	s.beginThaws()
}

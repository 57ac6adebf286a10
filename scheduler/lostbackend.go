// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// A backend may lose what it computes with, such as a device of another machine. It says so with
// an error that is ErrLost, or its owner calls Lose where no pass is running. The answers in slots
// end, with that error; what waits in the queue stays there. Until Revive the scheduler takes
// requests, and has deadlines and control calls count, but asks nothing of the backend's memory
// and computes nothing.

// Losable is a Backend that knows whether it was lost. What was copied of its memory since then is
// nothing.
type Losable interface {
	// Lost is why, an ErrLost; nil: it was not.
	Lost() error
}

// backendLost is why the backend was lost, though no pass may have told yet.
func (s *Scheduler) backendLost() error {
	if b, ok := s.backend.(Losable); ok {
		return b.Lost()
	}
	return nil
}

// Lose has the scheduler do without its backend, for a reason that those who run are told. When it
// returns, the backend is not used any more but for its vocabulary. Doing it twice does nothing.
func (s *Scheduler) Lose(reason error) {
	_ = s.ask(context.Background(), func(s *Scheduler) { s.lose(reason) }) // a scheduler that has ended does not use it either
}

// Revive says that the backend is as it was, with an empty memory.
func (s *Scheduler) Revive() { s.inbox.post(func(s *Scheduler) { s.lost = false }) }

// lose ends what runs and forgets what the backend's memory held. What was being copied of it is
// finished first: nobody uses the copy.
func (s *Scheduler) lose(reason error) {
	if s.lost {
		return
	}
	s.lost = true
	each(s, slices.Clone(s.running), func(_ int, j *job) { s.end(j, End{Reason: answer.ReasonError, Err: reason}) })
	s.recallRows()
	s.attempt(s.cache.Close)
	s.cache = s.newCache()
	clear(s.conversations)
	s.planned, s.awaitsCopy = s.planned[:0], false
	s.share.note(false)
}

func (s *Scheduler) newCache() *kvcache.Cache {
	return kvcache.New(s.backend, kvcache.Options{Cells: s.limits.Cells, Sequences: s.limits.Sequences, ArchiveBytes: s.config.ArchiveBytes,
		Checkpoints: s.config.Checkpoints, Pieces: s.config.Pieces, Clock: s.config.Clock})
}

// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/panics"
)

// Listener is told what happens, on the tick's goroutine: its functions must be quick and must not
// call back. Those that are nil are not called.
type Listener struct {
	Tick  func(TickRecord)         // after each tick that computed something
	First func(ttft time.Duration) // a request's first token, since its submission
	Token func(gap time.Duration)  // a later token, since the one before
	Ended func(RequestRecord)      // a request ended, for whatever reason; its reader is told after that
}

// listeners are whom a scheduler tells, in a list that is never changed but replaced: the tick
// reads it without a lock.
type listeners struct {
	changing sync.Mutex
	list     atomic.Pointer[[]*Listener]
}

// Listen has a listener told from now on. Stop ends that; a call that has begun may still be going
// on when it returns. Both may be called from anywhere, stop more than once.
func (s *Scheduler) Listen(l Listener) (stop func()) {
	s.listeners.change(func(all []*Listener) []*Listener { return append(all, &l) })
	return func() { s.listeners.remove(&l) }
}

func (l *listeners) remove(one *Listener) {
	l.change(func(all []*Listener) []*Listener {
		return slices.DeleteFunc(all, func(other *Listener) bool { return other == one })
	})
}

// change replaces the list by what becomes of a copy.
func (l *listeners) change(how func([]*Listener) []*Listener) {
	l.changing.Lock()
	defer l.changing.Unlock()
	all := how(slices.Clone(l.all()))
	l.list.Store(&all)
}

func (l *listeners) all() []*Listener {
	if all := l.list.Load(); all != nil {
		return *all
	}
	return nil
}

// tellListeners has all listeners told. A listener that panics is no request's fault: that is
// logged, and it is told no more.
func (s *Scheduler) tellListeners(how func(*Listener)) {
	for _, l := range s.listeners.all() {
		if err := panics.Try(func() error { how(l); return nil }); err != nil {
			s.logPanic(err)
			s.listeners.remove(l)
		}
	}
}

// TickRecord is what one tick did.
type TickRecord struct {
	Start      time.Time
	Forward    time.Duration // in the backend's passes
	Sample     time.Duration // drawing from native sampler chains; taking the tokens into answers is not in it
	Background time.Duration // waiting for background samplers, after the native chains
	Total      time.Duration // all of the tick
	Passes     int           // forward passes; compute says what has one of its own
	Decode     int           // tokens of generating slots
	Drafted    int           // tokens that were guessed for them
	Drafts     int           // slots that had some
	Accepted   int           // of Drafted, those that became part of answers; of a background sampler that was late, in the tick that collects it
	Prefill    int           // tokens of prompts
	Preempted  int           // jobs that lost their slot
	Parked     int           // running, but paused or with a reader that does not keep up
	Stats                    // as it was left
}

// Stats are the gauges of a scheduler after its last tick.
type Stats struct {
	Running   int
	Waiting   int
	CellsUsed int // KV cells that hold something
	Cells     int
}

// Stats may be called from any goroutine.
func (s *Scheduler) Stats() Stats {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	return s.stats
}

// gauges are what Stats tells after this tick.
func (s *Scheduler) gauges() Stats {
	return Stats{Running: len(s.running), Waiting: len(s.queue.jobs), CellsUsed: s.limits.Cells - s.cache.Free(), Cells: s.limits.Cells}
}

// RequestRecord is what became of one request.
type RequestRecord struct {
	Context context.Context // the request's; nil: it has none
	Reason  answer.Reason
	Usage   Usage
	Timing  Timing
	Total   time.Duration // submission to end
}

// requestRecord is what listeners are told of an end.
func (e *End) requestRecord() RequestRecord {
	t := e.Timing
	return RequestRecord{Reason: e.Reason, Usage: e.Usage, Timing: t, Total: t.Queued + t.Prefill + t.Decode}
}

// records is what a scheduler tells of itself. Others may look at its Stats and its load.
type records struct {
	record    TickRecord
	listeners listeners
	history   history
	rates     rates

	statsMu sync.Mutex
	stats   Stats

	look loadLook
}

// history keeps the last tick records, for Inspect. It is a scheduler's first listener.
type history struct {
	records [4096]TickRecord
	n       int
}

func (h *history) add(r TickRecord) {
	h.records[h.n%len(h.records)] = r
	h.n++
}

// observe closes the record of a tick.
func (s *Scheduler) observe() {
	r := &s.record
	r.Total = s.config.Clock().Sub(r.Start)
	r.Stats = s.gauges()
	for _, j := range s.running {
		if j.parked() {
			r.Parked++
		}
	}
	s.rates.count(r.Start.Add(r.Total), r.Prefill)
	s.tellListeners(func(l *Listener) {
		if l.Tick != nil {
			l.Tick(*r)
		}
	})
}

// TokenCounts are tokens computed.
type TokenCounts struct {
	Prompt    uint64 // of prompts, without those found in the cache
	Generated uint64 // of answers
}

// TokenRates are tokens a second.
type TokenRates struct{ Prompt, Generated float64 }

// rateSeconds is over how many seconds rates are taken, the present one included, of which only a
// part has passed.
const rateSeconds = 5

// rates counts tokens, all and by the second. It belongs to the tick.
type rates struct {
	total   TokenCounts
	shown   int // tokens of answers since the last count
	seconds [rateSeconds]struct {
		at int64 // since 1970
		TokenCounts
	}
}

// count notes tokens of prompts that were computed, and those of answers that were shown since the
// last time.
func (r *rates) count(now time.Time, prompt int) {
	second := &r.seconds[uint64(now.Unix())%rateSeconds]
	if second.at != now.Unix() {
		second.at, second.TokenCounts = now.Unix(), TokenCounts{}
	}
	for _, c := range []*TokenCounts{&r.total, &second.TokenCounts} {
		c.Prompt += uint64(prompt)
		c.Generated += uint64(r.shown)
	}
	r.shown = 0
}

// over is the tokens a second over the last rateSeconds.
func (r *rates) over(now time.Time) (rate TokenRates) {
	first := now.Unix() - rateSeconds + 1
	for _, second := range r.seconds {
		if second.at >= first {
			rate.Prompt += float64(second.Prompt)
			rate.Generated += float64(second.Generated)
		}
	}
	passed := now.Sub(time.Unix(first, 0)).Seconds()
	return TokenRates{rate.Prompt / passed, rate.Generated / passed}
}

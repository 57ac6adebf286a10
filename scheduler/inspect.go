// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
)

// SlotInfo is the state of one slot.
type SlotInfo struct {
	Slot     int
	Branch   uint64     // of a program: which of its branches the slot computes, from 1; 0: none, or the answer is no program's
	Tokens   int        // of the branch
	Stream   string     // empty: the slot is free
	Request  uint64     // counts the requests
	Limit    int        // most tokens to generate; 0: until the context is full
	State    string     // idle, prefilling, generating, parked: see activity
	Wait     WaitReason // why it takes no part in the ticks now; empty: it does
	Usage               // so far; without what a program has had computed
	Computed int        // tokens in the KV cache
	Sequence int
	Priority int
	Lasting  []string      // names of the stages that stay as long as the answer goes on, as plugins do; not to be changed
	Age      time.Duration // since the request was submitted
	Decoding time.Duration // since its first token; 0: there is none
}

// QueueInfo is the state of a request that waits for a slot.
type QueueInfo struct {
	Stream    string
	Wait      WaitReason
	Prompt    int // tokens
	Generated int // before it lost its slot
	Priority  int
	Age       time.Duration // since the request was submitted
}

// Snapshot is what a scheduler is doing.
type Snapshot struct {
	Slots       []SlotInfo
	Queue       []QueueInfo  // in the order they are served
	Ticks       []TickRecord // the last ones, oldest first, at most 4,096
	TickCount   int          // all ticks so far that computed something
	Cells       int          // KV cells in all
	CellsUsed   int          // that hold something
	Speculates  bool         // tokens of answers are guessed
	CellsCached int          // of CellsUsed, held by idle sequences alone: they are evicted when others need them
}

// Inspect describes the slots, the queue and the last ticks as they are between two ticks; ticks
// bounds how many of those. Errors: the context's, ErrClosed.
func (s *Scheduler) Inspect(ctx context.Context, ticks int) (Snapshot, error) {
	reply := make(chan Snapshot, 1)
	if err := s.ask(ctx, func(s *Scheduler) { reply <- s.snapshot(ticks) }); err != nil {
		return Snapshot{}, err
	}
	return <-reply, nil
}

func (s *Scheduler) snapshot(ticks int) Snapshot {
	snap := Snapshot{Slots: make([]SlotInfo, len(s.slots)), TickCount: s.history.n, Speculates: s.speculation.drafter != nil,
		Cells: s.limits.Cells, CellsUsed: s.limits.Cells - s.cache.Free(), CellsCached: s.cache.Evictable()}
	now := s.config.Clock()
	for i, b := range s.slots {
		snap.Slots[i] = SlotInfo{Slot: i, State: "idle", Sequence: -1}
		if b != nil {
			j := b.job
			snap.Slots[i] = SlotInfo{Slot: i, Stream: j.stream.id, Request: j.arrival, Limit: max(0, j.req.MaxTokens), State: b.activity(), Wait: s.slotWait(b),
				Usage: j.usage(), Computed: b.computed(), Sequence: b.sequence(), Priority: j.req.Priority, Lasting: j.lasting, Age: now.Sub(j.times.submitted), Decoding: j.times.timing(now).Decode}
			snap.Slots[i].Branch, snap.Slots[i].Tokens = b.toldAs()
		}
	}
	snap.Queue = s.inspectQueue(now)
	size := len(s.history.records)
	first := max(0, s.history.n-min(ticks, size))
	snap.Ticks = make([]TickRecord, 0, s.history.n-first)
	for i := first; i < s.history.n; i++ {
		snap.Ticks = append(snap.Ticks, s.history.records[i%size])
	}
	return snap
}

// activity is a branch's state as Inspect reports it. "parked" covers those of all jobs that take
// no part in the ticks now, more than job.parked does: those that are parked, those whose
// background sampler is busy, those that rest, and those that their program has not asked for.
func (b *branch) activity() string {
	j := b.job
	switch {
	case j.parked() || j.drawer.background.Busy() || j.restTime() > 0 || !b.awake() || b.busy():
		return "parked"
	case b.generating():
		return "generating"
	}
	return "prefilling"
}

// WaitReason is why a request does not go on now.
type WaitReason string

// What a request may wait for.
const (
	WaitPaused     WaitReason = "paused"  // its client to resume it
	WaitReader     WaitReason = "reader"  // its client to read
	WaitBackground WaitReason = "worker"  // its background sampler, with plugins, stop rules, log-probabilities or a trace; clients know the word
	WaitQuota      WaitReason = "quota"   // its plugins have used up their processor time for now
	WaitPrompts    WaitReason = "turn"    // the prompts of other slots are computed first
	WaitCells      WaitReason = "cells"   // KV cells
	WaitProgram    WaitReason = "program" // a program, which has not asked for the slot's branch now, or has not opened it
	WaitSlot       WaitReason = "slot"    // in the queue: a slot
	WaitPrefix     WaitReason = "prefix"  // in the queue: another request computes the beginning of the same prompt
	WaitDisk       WaitReason = "disk"    // in the queue: the beginning of its prompt is read from the disk
)

// slotWait is what a branch in a slot waited for in the last tick; empty: it took part.
func (s *Scheduler) slotWait(b *branch) WaitReason {
	j := b.job
	switch {
	case j.paused:
		return WaitPaused
	case j.drawer.background.Busy() || b.busy():
		return WaitBackground
	case j.restTime() > 0:
		return WaitQuota
	case j.stalled:
		return WaitReader
	case !b.awake():
		return WaitProgram
	case b.scheduled > 0:
		return ""
	case s.awaitsCopy || s.cache.Free() == 0:
		return WaitCells
	case !b.generating():
		return WaitPrompts
	}
	return "" // it has just come, or come back
}

// inspectQueue describes the jobs that wait for a slot.
func (s *Scheduler) inspectQueue(now time.Time) []QueueInfo {
	if len(s.queue.jobs) == 0 {
		return nil
	}
	noCells := s.lacksCells()
	list := make([]QueueInfo, len(s.queue.jobs))
	for i, j := range s.queue.jobs {
		list[i] = QueueInfo{Stream: j.stream.id, Wait: j.queueWait(noCells), Prompt: j.drawer.answer.PromptLen(), Generated: j.counted,
			Priority: j.req.Priority, Age: now.Sub(j.times.submitted)}
	}
	return list
}

// lacksCells reports whether slots are free that queued jobs cannot have, since the first of them
// has no cells yet: none overtakes it.
func (s *Scheduler) lacksCells() bool {
	first := slices.IndexFunc(s.queue.jobs, func(j *job) bool { return !j.paused && !j.stalled && !j.drawer.background.Busy() })
	return first >= 0 && slices.Contains(s.slots, nil) && !s.fitsCache(s.queue.jobs[first])
}

// queueWait is what a queued job waits for.
func (j *job) queueWait(noCells bool) WaitReason {
	switch {
	case j.paused:
		return WaitPaused
	case j.stalled:
		return WaitReader
	case j.leader != nil:
		return WaitPrefix
	case j.thaw != nil && !j.thaw.over:
		return WaitDisk
	case noCells && j.req.Slot == nil:
		return WaitCells
	}
	return WaitSlot
}

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

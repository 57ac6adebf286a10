// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// Config sets a scheduler up. The zero value of a field means its default.
type Config struct {
	Slots        int                       // requests computed at once; default 8
	QueueLimit   int                       // requests that may wait, of one caller at most half of what others leave; default 256
	ITLTarget    time.Duration             // aim for the time between two tokens of a generating slot while others prefill
	PrefillShare float64                   // least part of a tick's time that waiting prompts get, up to 0.95
	ArchiveBytes int64                     // RAM for conversations whose cells others needed; default none
	Cold         kvcache.Cold              // keeps conversations outside main memory; default nothing
	LeastCold    int                       // tokens that are worth reading from there, and about those of conversations that go there; default 512
	Checkpoints  kvcache.CheckpointOptions // of models that cannot take back single tokens; default none
	Strategy     estimator.Strategy        // default DecodeMaximal
	ComputeLock  *ComputeLock              // shared with other schedulers of this machine; default none
	Drafter      draft.Drafter             // guesses tokens of answers, where the backend can make use of that; default none
	MostDrafted  int                       // tokens it guesses of an answer at once; default DefaultMostDrafted
	Others       Others                    // what else computes on the same processors; default nothing
	Pieces       *piece.Table              // has the pictures and sounds that stand in prompts; default none
	Log          *slog.Logger              // for panics; default slog.Default
	Clock        func() time.Time
}

// Others is work on the same processors that is no request to the scheduler. A pass beside it
// would take several times as long.
type Others interface {
	// Pause has it wait from now on. It may itself wait a little, so that they get their share of
	// the time.
	Pause()
	// Resume ends Pause.
	Resume()
}

// The defaults of Config; docs/measurements.md has the measurements behind them.
const (
	DefaultSlots        = 8
	DefaultQueueLimit   = 256
	DefaultITLTarget    = 80 * time.Millisecond
	DefaultPrefillShare = 0.1
	DefaultBuffer       = 256 // events a stream holds
	DefaultMostDrafted  = 32
)

// Scheduler runs requests on one backend. Create it with New, start it with Run. All but the inbox
// and what others may look at (records) belongs to the tick.
type Scheduler struct {
	config  Config
	backend Backend
	limits  Limits

	inbox *inbox
	queue queue
	slotTable
	cache   *kvcache.Cache
	machine machineShare // of the processors, which other models' schedulers use, too

	tickPlan    // plan.go
	speculation speculation
	forwardPass // pass.go
	promptRows  promptRows
	sampling    sampling

	concurrent
	records       // inspect.go
	again   again // as of this tick
}

// slotTable is who has slots.
type slotTable struct {
	slots         []*branch     // nil: free
	running       []*job        // the jobs in slots, in the order they are served
	conversations []uint64      // by slot: the name of what its last answer left in the cache; 0: nothing
	slotActions   []*slotAction // not begun yet, in the order they came
	lost          bool          // the backend was (fault.go)
}

// concurrent is what goes on while ticks do: background samplers, programs and calls.
type concurrent struct {
	goroutines    sync.WaitGroup     // of background samplers and programs
	awaited       []*drawer          // their background samplers are collected by a later tick
	programs      []*job             // in slots, or queued again, whose programs are at work or are to be asked what they have done
	programsSpare []*job             // memory for another list of programs
	calling       []*job             // control calls of theirs wait
	thaws         []*thaw            // conversations that are read for queued jobs
	commands      []func(*Scheduler) // memory for those that were posted
}

// New checks the configuration against the backend. It fails if they cannot work together.
func New(b Backend, c Config) (*Scheduler, error) {
	limits := b.Limits()
	setDefault(&c.Slots, min(DefaultSlots, limits.Sequences))
	setDefault(&c.QueueLimit, DefaultQueueLimit)
	setDefault(&c.ITLTarget, DefaultITLTarget)
	setDefault(&c.PrefillShare, DefaultPrefillShare)
	setDefault(&c.MostDrafted, DefaultMostDrafted)
	setDefault(&c.LeastCold, kvcache.LeastCold)
	if c.Strategy == nil {
		c.Strategy = estimator.DecodeMaximal{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	switch {
	case c.Slots < 1 || c.Slots > limits.Sequences:
		return nil, fmt.Errorf("%w: %d slots, the backend has %d sequences", ErrBadRequest, c.Slots, limits.Sequences)
	case c.Slots > limits.Rows || c.Slots > limits.Batch:
		return nil, fmt.Errorf("%w: %d slots, the backend takes %d tokens and gives %d rows a pass", ErrBadRequest, c.Slots, limits.Batch, limits.Rows)
	case c.PrefillShare < 0 || c.PrefillShare > 0.95:
		return nil, fmt.Errorf("%w: prefill share %v is not between 0 and 0.95", ErrBadRequest, c.PrefillShare)
	}
	s := &Scheduler{
		config:      c,
		backend:     b,
		limits:      limits,
		inbox:       newInbox(c.Slots, c.QueueLimit),
		slotTable:   slotTable{slots: make([]*branch, c.Slots), conversations: make([]uint64, c.Slots)},
		machine:     machineShare{lock: c.ComputeLock},
		forwardPass: forwardPass{estimator: estimator.New(limits.SeparatePasses)},
		sampling:    sampling{alarm: time.NewTimer(time.Hour)},
	}
	s.cache = s.newCache()
	s.Listen(Listener{Tick: s.history.add})
	if limits.Drafts {
		s.speculation.drafter = c.Drafter
	}
	if limits.MostDrafted > 0 {
		s.config.MostDrafted = min(c.MostDrafted, limits.MostDrafted)
	}
	return s, nil
}

func setDefault[T int | float64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Run ticks until the context is done; then every request that is left ends as cancelled. When it
// returns, all stages are closed. It is called once.
func (s *Scheduler) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		s.Tick()
		s.sleep(ctx)
	}
	s.machine.note(work{})
	s.inbox.close()
	s.takeCommands()
	for _, j := range s.jobs() {
		s.endJob(j, End{Reason: answer.ReasonCancelled, Err: ErrClosed})
	}
	s.refuseSlotActions()
	if !s.lost {
		s.runGuarded(s.cache.OfferAll)
	}
	s.runGuarded(s.cache.Close)
	s.goroutines.Wait() // their stages are the backend's and the plugins', which may be closed after this
	return nil
}

// jobs lists all requests, running first, then waiting.
func (s *Scheduler) jobs() []*job { return slices.Concat(s.running, s.queue.jobs) }

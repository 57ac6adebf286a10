// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"golang.org/x/sync/errgroup"
)

// setup is what one simulation is of.
type setup struct {
	hardware *hardware
	size     int // replicas
	policy   policy
	users    int // active at once: they read, type or wait for an answer
	workload workload

	routers int           // each message comes to any of them; default 1
	poll    time.Duration // between two polls of a replica; 0: routers know all at any moment
	warm    time.Duration // before anything is measured
	measure time.Duration
	seed    uint64
}

// fleet is a simulation on virtual time: replicas, the users who send them messages, and the
// routers in between. All of it is one loop over events.
type fleet struct {
	setup
	population *population
	arrivals   *rand.Rand
	replicas   []*replica
	all        []int32 // numbers of the replicas
	routers    []*router
	index      index // of the routers: they poll together
	events     events
	now        time.Duration
	begun      uint64 // conversations
	messages   int
	result     result
	failed     error
}

// simulate runs a simulation to its end.
func simulate(s setup) (*result, error) {
	f, err := newFleet(s, func(m *machine) scheduler.Backend { return m })
	if err != nil {
		return nil, err
	}
	return f.run()
}

// newFleet builds a fleet. wrap gives the schedulers their view of a machine.
func newFleet(s setup, wrap func(*machine) scheduler.Backend) (*fleet, error) {
	f := &fleet{setup: s, population: newPopulation(s.workload, s.seed), arrivals: rand.New(rand.NewPCG(s.seed, 1<<63)), index: index{}}
	for i := range s.size {
		r, err := f.newReplica(i, wrap)
		if err != nil {
			return nil, fmt.Errorf("replica %d: %w", i, err)
		}
		f.replicas, f.all = append(f.replicas, r), append(f.all, int32(i))
	}
	for i := range max(s.routers, 1) {
		f.routers = append(f.routers, newRouter(f, uint64(i)))
	}
	f.resume()
	f.begin()
	if s.poll > 0 && s.policy != random {
		for i := range s.size { // not all at once
			f.events.add(event{at: s.poll * time.Duration(i) / time.Duration(s.size), kind: polls, replica: i})
		}
	}
	return f, nil
}

// resume has conversations go on that began before the simulation did, so that users send as many
// messages in its first minutes as later.
func (f *fleet) resume() {
	for range int(float64(f.users) * (1 - 1/f.population.turns)) { // the other messages begin conversations
		f.begun++
		at := time.Duration(f.arrivals.Int64N(int64(f.population.cycle)))
		f.events.add(event{at: at, kind: sends, conversation: f.population.underWay(f.begun)})
	}
}

// begin has the next conversation begin after a while: they come at random, as many a second as
// the users begin.
func (f *fleet) begin() {
	pause := f.arrivals.ExpFloat64() / f.population.rate(f.users)
	f.events.add(event{at: f.now + time.Duration(pause*float64(time.Second)), kind: begins})
}

// run runs the simulation to its end.
func (f *fleet) run() (*result, error) {
	for f.failed == nil {
		e := f.events.take()
		if f.now = e.at; f.now >= f.warm+f.measure {
			f.conclude()
			break
		}
		f.happen(e)
	}
	return &f.result, f.failed
}

func (f *fleet) happen(e event) {
	switch e.kind {
	case begins:
		f.begun++
		f.send(f.population.converse(f.begun))
		f.begin()
	case sends:
		f.send(e.conversation)
	case ticks:
		f.replicas[e.replica].tick()
	case polls:
		r := f.replicas[e.replica]
		for _, router := range f.routers {
			router.poll(e.replica, r.open)
		}
		f.index.poll(e.replica, r.machine.held)
		f.events.add(event{at: f.now + f.poll, kind: polls, replica: e.replica})
	}
}

// send brings a message to a router, and from there to a replica. A conversation that has become
// too long for the context ends.
func (f *fleet) send(c *conversation) {
	if c.begin+c.told+c.answer > f.hardware.limits.Context {
		return
	}
	prompt := f.population.prompt(c)
	router := f.routers[f.messages%len(f.routers)]
	f.messages++
	r := f.replicas[router.choose(prompt)]
	switch taken, err := r.send(c, prompt); {
	case err != nil:
		f.failed = err
	case !taken:
		if f.measures(f.now) {
			f.result.refused++
		}
	case !r.ticking:
		r.ticking = true
		f.events.add(event{at: f.now, kind: ticks, replica: r.number})
	}
}

// measures reports whether what happens then counts.
func (f *fleet) measures(at time.Duration) bool { return at >= f.warm && at < f.warm+f.measure }

// conclude adds up what the replicas did.
func (f *fleet) conclude() {
	for _, r := range f.replicas {
		slots := r.running.Seconds() / f.measure.Seconds() / float64(f.hardware.slots)
		f.result.computing += r.computing.Seconds() / f.measure.Seconds() / float64(f.size)
		f.result.slots += slots / float64(f.size)
		f.result.busiest = max(f.result.busiest, slots)
		f.result.cells += float64(r.scheduler.Stats().CellsUsed) / float64(f.hardware.limits.Cells) / float64(f.size)
	}
	f.result.rate = float64(f.result.answers) / f.measure.Seconds()
}

// event is something that happens at a moment of virtual time.
type event struct {
	at           time.Duration
	number       uint64 // of two at the same moment the one that was added first comes first
	kind         kind
	replica      int           // of ticks and polls
	conversation *conversation // of sends
}

type kind int

const (
	begins kind = iota // a conversation
	sends              // a user, a message
	ticks              // a replica's scheduler
	polls              // the routers, a replica
)

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.number < other.number
}

// events are a heap: the earliest is the first, and none is earlier than the one at half its index.
type events struct {
	heap  []event
	added uint64
}

// add adds an event.
func (q *events) add(e event) {
	q.added++
	e.number = q.added
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for up := (i - 1) / 2; i > 0 && e.before(&q.heap[up]); up = (i - 1) / 2 {
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = e
}

// take removes the earliest event. There must be one.
func (q *events) take() event {
	earliest, last := q.heap[0], len(q.heap)-1
	e := q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	i := 0
	for {
		down := 2*i + 1
		if down+1 < last && q.heap[down+1].before(&q.heap[down]) {
			down++
		}
		if down >= last || e.before(&q.heap[down]) {
			break
		}
		q.heap[i] = q.heap[down]
		i = down
	}
	if last > 0 {
		q.heap[i] = e
	}
	return earliest
}

// simulator runs simulations, some at once. Each has one goroutine, and none knows of the others.
type simulator struct {
	seed    uint64
	workers int
}

// all runs simulations of chats, polled as usual where a setup does not say otherwise.
func (s simulator) all(setups []setup) ([]*result, error) {
	results := make([]*result, len(setups))
	err := s.each(len(setups), func(i int) (err error) {
		results[i], err = s.one(setups[i])
		return err
	})
	return results, err
}

// Caches fill while a simulation warms up. Then it is measured until there are enough messages for
// a p99: a hundred are slower.
const (
	warm     = 3 * time.Minute
	messages = 10_000
	shortest = time.Minute
)

// one runs a simulation.
func (s simulator) one(x setup) (*result, error) {
	x.workload, x.warm, x.seed = chats, warm, s.seed
	cycle := newPopulation(x.workload, x.seed).cycle // in which each user sends a message
	x.measure = max(messages*cycle/time.Duration(x.users), shortest)
	r, err := simulate(x)
	if err != nil {
		return nil, fmt.Errorf("%d × %s, %s: %w", x.size, x.hardware.name, x.policy, err)
	}
	fmt.Fprintf(os.Stderr, "%d × %s, %s, %d users: %s\n", x.size, x.hardware.name, x.policy, x.users, r.row())
	return r, nil
}

// each calls f with each number below n, some at once, and returns the first error.
func (s simulator) each(n int, f func(int) error) error {
	var group errgroup.Group
	group.SetLimit(s.workers)
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	return group.Wait()
}

// enough is the smallest fleet that keeps the goal of its hardware. If not even one with most
// times the replicas of the first guess does, size is 0 and best is that of this one.
func (s simulator) enough(x setup) (size int, best *result, err error) {
	const most = 4
	guess := max(x.users/x.hardware.users, 1)
	size, err = fewest(guess, most*guess, func(size int) (bool, error) {
		x.size = size
		r, err := s.one(x)
		if err != nil {
			return false, err
		}
		keeps := r.keeps(x.hardware.goal)
		if keeps || size >= most*guess {
			best = r
		}
		return keeps, nil
	})
	return size, best, err
}

// precise bounds the error of fewest: it is below one, or a tenth of the result.
const precise = 10

// fewest is the smallest number that is enough, if all larger ones are, too; 0 if it is above
// most. It looks at a guess first. Of the numbers it tried and found enough, the one that it
// returns was the last.
func fewest(guess, most int, enough func(int) (bool, error)) (int, error) {
	low, high := 0, math.MaxInt // too few, and enough
	for n := guess; high-low > max(high/precise, 1); {
		ok, err := enough(n)
		switch {
		case err != nil:
			return 0, err
		case ok:
			high = n
		case n >= most:
			return 0, nil
		default:
			low = n
		}
		if n = min(2*n, most); high < math.MaxInt {
			n = (low + high) / 2
		}
	}
	return high, nil
}

// result is what a simulation has measured.
type result struct {
	ttft, itl, queued     histogram
	answers, refused      int
	prompt, cached, known int // prompt tokens: all, those found in the KV cache, those that some cache of the fleet may have
	preempted             int
	rate                  float64 // answers a second
	computing             float64 // part of the time, on average of all replicas
	slots, busiest        float64 // part of the slots that are taken: on average, and of the replica with the most
	cells                 float64 // part of the KV cells that hold something at the end
}

// answered counts an answer.
func (r *result) answered(e scheduler.RequestRecord, known int) {
	r.answers++
	r.prompt += e.Usage.Prompt
	r.cached += e.Usage.Cached
	r.known += known
	r.queued.add(e.Timing.Queued)
}

// hits is the part of all prompt tokens that were found in the cache.
func (r *result) hits() float64 { return float64(r.cached) / float64(max(r.prompt, 1)) }

// possible is the part that one cache without limits would have had.
func (r *result) possible() float64 { return float64(r.known) / float64(max(r.prompt, 1)) }

// keeps reports whether a fleet was fast enough, and took all that came.
func (r *result) keeps(g goal) bool {
	return r.refused == 0 && r.answers > 0 && r.ttft.quantile(0.99) <= g.ttft && r.itl.quantile(0.99) <= g.itl
}

// milliseconds rounds a time for a table.
func milliseconds(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }

// histogram counts durations in buckets that are 1/64 of their value wide.
type histogram struct {
	counts [64 * 40]int
	n      int
	sum    time.Duration
}

// precision is how many bits of a number of microseconds tell buckets apart.
const precision = 6

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)/time.Microsecond))]++
	h.n++
	h.sum += d
}

// mean is the average duration; 0 if there are none.
func (h *histogram) mean() time.Duration { return h.sum / time.Duration(max(h.n, 1)) }

func bucket(us uint64) int {
	shift := max(bits.Len64(us)-precision-1, 0)
	return shift<<precision + int(us>>shift)
}

// quantile is the least duration that is in the bucket where the part q of all durations is
// reached; 0 if there are none.
func (h *histogram) quantile(q float64) time.Duration {
	rank, seen := int(q*float64(h.n)), 0
	for i, n := range h.counts {
		if seen += n; seen > rank {
			return least(i)
		}
	}
	return 0
}

// least is the shortest duration in a bucket.
func least(i int) time.Duration {
	shift := max(i>>precision-1, 0)
	return time.Duration(i-shift<<precision) << shift * time.Microsecond
}

// replica is one machine of a fleet with its scheduler, which is Penstock's own. It has no
// goroutine: its fleet calls tick when the pass before is over, and not at all while it has
// nothing to do.
type replica struct {
	fleet     *fleet
	number    int
	machine   *machine
	scheduler *scheduler.Scheduler
	ticking   bool // an event of its next tick is under way
	open      int  // requests that were sent to it and have not ended
	ended     int  // of open, in the last tick; that is at its end, which is when the next tick comes
	computing time.Duration
	running   time.Duration // the same times the slots that were taken
}

func (f *fleet) newReplica(number int, wrap func(*machine) scheduler.Backend) (*replica, error) {
	r := &replica{fleet: f, number: number, machine: newMachine(f.hardware)}
	if f.policy.asksPrefixes() {
		r.machine.held = &holdings{sequences: map[uint64]int{}}
	}
	var err error
	r.scheduler, err = scheduler.New(wrap(r.machine), scheduler.Config{Slots: f.hardware.slots, ITLTarget: f.hardware.target,
		Clock: r.machine.clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err == nil {
		r.scheduler.Listen(scheduler.Listener{Tick: r.counted, First: r.began, Token: r.wrote})
	}
	return r, err
}

// send gives a replica the next message of a conversation. It reports false if its queue is full.
func (r *replica) send(c *conversation, prompt []scheduler.Token) (bool, error) {
	known, sent := c.known(), r.fleet.now
	r.machine.now = sent // it may be at the end of its pass, which is later; the next tick sets it again
	_, err := r.scheduler.Submit(scheduler.Request{
		Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: c.answer}, Chain: []chain.Stage{schedulertest.Greedy{}}, Reports: scheduler.Reports{Logprobs: -1},
		Drafting: scheduler.Drafting{MostDrafted: -1}, Caching: scheduler.Caching{CachePrompt: true}, Delivery: scheduler.Delivery{Overflow: scheduler.DropOldest, Buffer: 1},
		Ended: func(e scheduler.RequestRecord) { r.answered(c, e, known) },
	})
	if errors.Is(err, scheduler.ErrQueueFull) {
		return false, nil
	}
	r.open++
	return true, err
}

// answered is told of the end of an answer, at the end of a tick.
func (r *replica) answered(c *conversation, e scheduler.RequestRecord, known int) {
	f := r.fleet
	r.ended++
	if e.Reason == answer.ReasonError {
		f.failed = errors.New("an answer has ended with an error")
	}
	if f.measures(r.machine.now) {
		f.result.answered(e, known)
	}
	if c.left == 0 {
		return
	}
	pause := f.population.follow(c)
	f.events.add(event{at: r.machine.now + pause, kind: sends, conversation: c})
}

// tick has the scheduler do one round, now.
func (r *replica) tick() {
	r.open -= r.ended
	r.ended = 0
	if r.machine.held.settle(); r.fleet.poll == 0 {
		r.fleet.index.poll(r.number, r.machine.held)
	}
	r.machine.now = r.fleet.now
	r.ticking = r.scheduler.Tick()
	if r.ticking {
		r.fleet.events.add(event{at: r.machine.now, kind: ticks, replica: r.number})
	}
}

// counted is told of a tick.
func (r *replica) counted(t scheduler.TickRecord) {
	if r.fleet.measures(r.machine.now) {
		r.computing += t.Forward
		r.running += t.Forward * time.Duration(t.Running)
		r.fleet.result.preempted += t.Preempted
	}
}

// began is told of a first token.
func (r *replica) began(ttft time.Duration) {
	if r.fleet.measures(r.machine.now) {
		r.fleet.result.ttft.add(ttft)
	}
}

// wrote is told of a later token.
func (r *replica) wrote(gap time.Duration) {
	if r.fleet.measures(r.machine.now) {
		r.fleet.result.itl.add(gap)
	}
}

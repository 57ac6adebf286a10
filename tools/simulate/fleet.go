// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/penstock/penstock/scheduler"
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

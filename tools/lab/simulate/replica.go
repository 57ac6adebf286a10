// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

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
		r.machine.held = newHoldings()
	}
	var err error
	r.scheduler, err = scheduler.New(wrap(r.machine), scheduler.Config{Slots: f.hardware.slots, ITLTarget: f.hardware.target, Observer: r,
		Clock: r.machine.clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	return r, err
}

// send gives a replica the next message of a conversation. It reports false if its queue is full.
func (r *replica) send(c *conversation, prompt []scheduler.Token) (bool, error) {
	known, sent := c.known(), r.fleet.now
	r.machine.now = sent // it may be at the end of its pass, which is later; the next tick sets it again
	_, err := r.scheduler.Submit(scheduler.Request{
		Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: c.answer}, Chain: []chain.Stage{schedulertest.Greedy{}}, Reports: scheduler.Reports{Logprobs: -1},
		Drafting: scheduler.Drafting{MostDrafted: -1}, Caching: scheduler.Caching{CachePrompt: true}, Delivery: scheduler.Delivery{Overflow: scheduler.DropOldest, Buffer: 1},
		Ended: func(e scheduler.RequestRecord) { r.answered(c, e, sent, known) },
	})
	if errors.Is(err, scheduler.ErrQueueFull) {
		return false, nil
	}
	r.open++
	return true, err
}

// answered is told of the end of an answer, at the end of a tick.
func (r *replica) answered(c *conversation, e scheduler.RequestRecord, sent time.Duration, known int) {
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

// Tick implements scheduler.Observer.
func (r *replica) Tick(t scheduler.TickRecord) {
	if r.fleet.measures(r.machine.now) {
		r.computing += t.Forward
		r.running += t.Forward * time.Duration(t.Running)
		r.fleet.result.preempted += t.Preempted
	}
}

// First implements scheduler.Observer.
func (r *replica) First(ttft time.Duration) {
	if r.fleet.measures(r.machine.now) {
		r.fleet.result.ttft.add(ttft)
	}
}

// Token implements scheduler.Observer.
func (r *replica) Token(gap time.Duration) {
	if r.fleet.measures(r.machine.now) {
		r.fleet.result.itl.add(gap)
	}
}

// Ended implements scheduler.Observer. Request.Ended has more.
func (r *replica) Ended(scheduler.RequestRecord) {}

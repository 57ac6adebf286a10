// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// small is a machine whose KV cache is too small for its users: conversations are evicted and
// requests preempted.
var small = &hardware{name: "small", slots: 4, target: 100 * time.Millisecond, limits: limits(2560, 2048, 16),
	device: &schedulertest.Device{Launch: time.Millisecond, Weights: 5 * time.Millisecond, Token: time.Millisecond, Read: time.Microsecond}}

// smallFleet is a fleet of them.
func smallFleet(p policy) setup {
	return setup{hardware: small, size: 5, policy: p, users: 200, workload: chats, seed: 3, poll: polling, routers: 2,
		warm: 20 * time.Second, measure: 2 * time.Minute}
}

// same fails the test if two results differ in anything.
func same(t *testing.T, got, want *result, why string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{}, histogram{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

func TestSimulate_SameSeed_SameResult(t *testing.T) {
	for _, p := range steadytest.Some(t, policies, 1) {
		s := smallFleet(p)
		first := must.Get(simulate(s))(t)
		if first.answers < 50 || first.itl.n < 1000 {
			t.Fatalf("%s: %d answers and %d gaps say little", p, first.answers, first.itl.n)
		}
		same(t, must.Get(simulate(s))(t), first, string(p))
		if s.seed++; cmp.Equal(first, must.Get(simulate(s))(t), cmp.AllowUnexported(result{}, histogram{})) {
			t.Errorf("%s: another seed makes no difference", p)
		}
	}
}

// strict has every call of a scheduler on a machine made on a schedulertest.Backend too, which
// knows each cell and position.
type strict struct {
	*machine
	books *schedulertest.Backend
	t     *testing.T
}

func (s strict) Start(b *scheduler.Batch) error {
	if err := s.books.Start(b); err != nil {
		s.t.Error(err)
	}
	return s.machine.Start(b)
}

func (s strict) Wait() error {
	if err := s.books.Wait(); err != nil {
		s.t.Error(err)
	}
	return s.machine.Wait()
}

func (s strict) Truncate(seq int32, n int) int {
	got, want := s.machine.Truncate(seq, n), s.books.Truncate(seq, n)
	if got != want {
		s.t.Errorf("sequence %d is cut at %d of %d", seq, got, want)
	}
	return got
}

func (s strict) Share(src, dst int32, n int) int {
	got, want := s.machine.Share(src, dst, n), s.books.Share(src, dst, n)
	if got != want {
		s.t.Errorf("%d tokens of %d are shared", got, want)
	}
	return got
}

func (s strict) ContinueCopy(limit time.Duration, here bool) bool {
	return s.books.ContinueCopy(limit, here) && s.machine.ContinueCopy(limit, here)
}

// TestMachine_StrictBackend_Agrees: a machine forgets what schedulertest.Backend checks, and
// nothing else.
func TestMachine_StrictBackend_Agrees(t *testing.T) {
	for _, p := range steadytest.Some(t, []policy{random, prefixLoad}, 1) {
		var all []strict
		crowded := smallFleet(p)
		crowded.users = 400
		f := must.Get(newFleet(crowded, func(m *machine) scheduler.Backend {
			all = append(all, strict{m, schedulertest.New(m.limits), t})
			return all[len(all)-1]
		}))(t)
		checked := must.Get(f.run())(t)
		same(t, checked, must.Get(simulate(crowded))(t), string(p))
		if checked.preempted == 0 || checked.cached == 0 {
			t.Errorf("%s: %d requests were preempted and %d tokens cached", p, checked.preempted, checked.cached)
		}
		for i, s := range all {
			if got, want := f.replicas[i].scheduler.Stats().CellsUsed, s.books.Used(); got != want {
				t.Errorf("%s: replica %d has %d cells in use, its backend %d", p, i, got, want)
			}
		}
	}
}

// TestFleet_IdleReplicas_AreSkippedForNothing: a replica without requests is not ticked. Ticks at
// every event would change nothing.
func TestFleet_IdleReplicas_AreSkippedForNothing(t *testing.T) {
	for _, p := range steadytest.Some(t, policies, 1) {
		s := smallFleet(p)
		s.users = 15
		f := must.Get(newFleet(s, func(m *machine) scheduler.Backend { return m }))(t)
		idle := 0
		for e := f.events.take(); e.at < s.warm+s.measure; e = f.events.take() {
			f.now = e.at
			for _, r := range f.replicas {
				if r.ticking {
					continue
				}
				r.machine.now = f.now
				for range 8 { // every eighth tick goes through prompts in another order
					if idle++; r.scheduler.Tick() {
						t.Fatalf("%s: replica %d had something to do at %v", p, r.number, f.now)
					}
				}
			}
			f.happen(e)
		}
		f.conclude()
		if idle < 1000 {
			t.Errorf("%s: there were %d ticks of idle replicas", p, idle)
		}
		same(t, &f.result, must.Get(simulate(s))(t), string(p))
	}
}

// queue is a machine with one slot, on which every request takes 200 ms: 5 passes of 40 ms.
var queue = &hardware{name: "queue", slots: 1, target: time.Second, limits: limits(4096, 2048, 4),
	device: &schedulertest.Device{Weights: 40 * time.Millisecond}}

const service = 200 * time.Millisecond

// questions are conversations of one message with one token, the same answer's length, and a
// system prompt of one token.
var questions = workload{turns: 1, message: length{mean: 1, most: 1}, answer: length{mean: 5, most: 5}, systems: 1,
	system: length{mean: 1, most: 1}, wordsPerToken: 1, read: 60, typed: 60, pasted: 1}

// waiting simulates a fleet of such queues.
func waiting(t *testing.T, size int, p policy, busy float64) (r *result, rho float64) {
	t.Helper()
	cycle := newPopulation(questions, 1).cycle
	s := setup{hardware: queue, size: size, policy: p, users: int(busy * float64(size) * cycle.Seconds() / service.Seconds()), workload: questions,
		seed: 1, warm: time.Minute, measure: 4 * time.Hour / time.Duration(size)}
	r = must.Get(simulate(s))(t)
	return r, newPopulation(questions, 1).rate(s.users) * service.Seconds() / float64(size)
}

// TestReplica_OneSlot_IsAnMD1Queue: requests that come at random and take equally long wait as the
// formula of Pollaczek and Khinchine has it. If routing is random, so do those of each replica.
func TestReplica_OneSlot_IsAnMD1Queue(t *testing.T) {
	type load struct {
		size int
		busy float64
	}
	for _, l := range steadytest.Some(t, []load{{1, 0.4}, {1, 0.7}, {4, 0.4}, {4, 0.7}}, 1) {
		r, rho := waiting(t, l.size, random, l.busy)
		want := rho * service.Seconds() / (2 * (1 - rho))
		if got := r.queued.mean().Seconds(); math.Abs(got/want-1) > 0.08 {
			t.Errorf("%d replicas busy for %.2f: requests waited %.4f s, the formula says %.4f", l.size, rho, got, want)
		}
		if math.Abs(r.computing/rho-1) > 0.03 {
			t.Errorf("%d replicas busy for %.2f computed for %.2f of the time", l.size, rho, r.computing)
		}
		if got := r.itl.quantile(0.99); got > 40*time.Millisecond || got < 39*time.Millisecond { // a bucket's width less
			t.Errorf("the time between tokens is %v", got)
		}
	}
}

// TestRouter_KnowingAll_BeatsChance: who knows the number of requests at every moment is better
// off than who chooses at random.
func TestRouter_KnowingAll_BeatsChance(t *testing.T) {
	for _, busy := range steadytest.Some(t, []float64{0.5, 0.8}, 1) {
		byChance, _ := waiting(t, 4, random, busy)
		byLoad, _ := waiting(t, 4, leastLoad, busy)
		if byLoad.queued.mean() > byChance.queued.mean()/2 {
			t.Errorf("busy for %.1f: requests waited %v, at random %v", busy, byLoad.queued.mean(), byChance.queued.mean())
		}
		if byLoad.ttft.quantile(0.99) >= byChance.ttft.quantile(0.99) {
			t.Errorf("busy for %.1f: p99 is %v, at random %v", busy, byLoad.ttft.quantile(0.99), byChance.ttft.quantile(0.99))
		}
	}
}

// TestRouter_Prefixes_AreFound: who asks for prefixes finds more of them, and nearly all where the
// caches are large enough.
func TestRouter_Prefixes_AreFound(t *testing.T) {
	large := *small
	large.limits, large.slots = limits(400_000, 8192, 256), 32
	few := chats
	few.systems = 20
	hits := map[policy]float64{}
	for _, p := range policies {
		s := smallFleet(p)
		s.hardware, s.workload, s.users, s.warm = &large, few, 100, 4*time.Minute
		r := must.Get(simulate(s))(t)
		hits[p] = r.hits() / r.possible()
	}
	for _, p := range []policy{prefix, prefixLoad} {
		if hits[p] < 0.9 || hits[p] > 1 || hits[random] > 0.9*hits[p] {
			t.Errorf("%s finds %.2f of the tokens that can be found, at random %.2f are", p, hits[p], hits[random])
		}
	}
}

// BenchmarkFleet simulates a minute of fleets whose replicas are all at work.
func BenchmarkFleet(b *testing.B) {
	for _, h := range machines {
		for _, size := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/replicas=%d", h.name, size), func(b *testing.B) {
				answers := 0
				for b.Loop() {
					r := must.Get(simulate(setup{hardware: h, size: size, policy: prefixLoad, users: size * h.users, workload: chats, poll: polling,
						seed: 1, measure: time.Minute}))(b)
					answers += r.answers
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(answers), "ns/answer")
			})
		}
	}
}

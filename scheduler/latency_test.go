// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// mixed is a load of streams that generate while other clients send long prompts, one after
// another.
type mixed struct {
	b       *schedulertest.Backend
	s       *scheduler.Scheduler
	rng     *rand.Rand
	streams []*scheduler.Stream
	prompts []*scheduler.Stream
	gaps    []time.Duration // between the tokens of a stream
	last    []time.Time
	tokens  int
	serial  int

	begin  int // tokens in the prompt of a stream
	length int // of the shortest of the other prompts; they vary by two thirds of that
}

func newMixed(t *testing.T, streams, clients int, c scheduler.Config) *mixed {
	return newMixedOn(t, streams, clients, c, schedulertest.Measured.Cost, false)
}

func newMixedOn(t *testing.T, streams, clients int, c scheduler.Config, cost func(tokens, cells int) time.Duration, separate bool) *mixed {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 16, Context: 1 << 15, Batch: 2048, Sequences: 32, SeparatePasses: separate})
	b.Cost = cost
	m := &mixed{b: b, begin: 20, length: 1500}
	m.start(t, streams, clients, c)
	return m
}

// start brings the streams to where they generate, and then begins the other prompts.
func (m *mixed) start(t *testing.T, streams, clients int, c scheduler.Config) {
	c.Slots = streams + clients + 2
	m.s, m.rng = newScheduler(t, m.b, c), rand.New(rand.NewPCG(uint64(streams), uint64(clients)))
	m.last = make([]time.Time, streams)
	for range streams {
		m.streams = append(m.streams, submit(t, m.s, m.request(m.begin, 0)))
	}
	for m.tokens < 40*streams {
		m.step()
	}
	m.addClients(t, clients)
}

func (m *mixed) addClients(t *testing.T, n int) {
	for range n {
		m.prompts = append(m.prompts, submit(t, m.s, m.long()))
	}
}

func (m *mixed) long() scheduler.Request {
	return m.request(m.length+m.rng.IntN(m.length*2/3), 1)
}

func (m *mixed) request(n, most int) scheduler.Request {
	m.serial++
	r := request(n, m.serial, most)
	r.CachePrompt = false
	return r
}

// step does a tick, notes the gaps of the streams, and replaces ended prompts by new ones.
func (m *mixed) step() {
	m.s.Tick()
	for i, st := range m.streams {
		for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
			if e.Kind != scheduler.KindToken {
				continue
			}
			if !m.last[i].IsZero() {
				m.gaps = append(m.gaps, m.b.Now().Sub(m.last[i]))
			}
			m.last[i] = m.b.Now()
			m.tokens++
		}
	}
	for i, st := range m.prompts {
		for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
			if e.Kind == scheduler.KindEnd {
				m.prompts[i], _ = m.s.Submit(m.long())
			}
		}
	}
}

// measure runs for a while of virtual time and returns the p99 gap and the rates of prefill and
// decode, in tokens/s.
func (m *mixed) measure(d time.Duration) (p99 time.Duration, prefill, decode float64) {
	m.gaps, m.tokens = nil, 0
	computed, start := m.b.Tokens, m.b.Now()
	for m.b.Now().Sub(start) < d {
		m.step()
	}
	took := m.b.Now().Sub(start).Seconds()
	slices.Sort(m.gaps)
	if len(m.gaps) > 0 {
		p99 = m.gaps[len(m.gaps)*99/100]
	}
	return p99, float64(m.b.Tokens-computed-m.tokens) / took, float64(m.tokens) / took
}

// oracle tries every constant chunk against the cost curve itself: the highest value that use and
// rates come to within a time for a tick, and the best rate that prefill and decode have alone.
func oracle(decode int, within time.Duration) (value, prefillRate, decodeRate float64) {
	cost := func(n int) float64 { return schedulertest.Measured.Cost(n, 0).Seconds() }
	for n := 1; n <= 1024; n++ {
		prefillRate = max(prefillRate, float64(n)/cost(n))
	}
	decodeRate = float64(decode) / cost(decode)
	for n := 8; n <= 1024 && cost(n+decode) <= within.Seconds(); n++ {
		t := cost(n + decode)
		value = max(value, valueOf(float64(n)/t, float64(decode)/t, prefillRate, decodeRate))
	}
	return value, prefillRate, decodeRate
}

// valueOf is what the default strategy wants as much as possible of: the product of the rates
// times the square of the use.
func valueOf(prefill, decode, bestPrefill, bestDecode float64) float64 {
	use := prefill/bestPrefill + decode/bestDecode
	return prefill * decode * use * use
}

// TestScheduler_ITLTarget_HoldsAndUsesTheMachine: on virtual time with the measured cost curve the
// p99 gap stays within 1.3 × the target, the machine is well used, and no constant chunk would
// have been worth much more.
func TestScheduler_ITLTarget_HoldsAndUsesTheMachine(t *testing.T) {
	for _, c := range []struct {
		streams, clients int
		use              float64
	}{{1, 1, 0.7}, {4, 2, 0.9}, {4, 8, 0.9}, {12, 3, 0.9}} {
		for _, target := range []time.Duration{80 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
			t.Run(fmt.Sprintf("%d+%d at %v", c.streams, c.clients, target), func(t *testing.T) {
				m := newMixed(t, c.streams, c.clients, scheduler.Config{ITLTarget: target})
				m.measure(20 * time.Second) // the costs are learned
				p99, prefill, decode := m.measure(200 * time.Second)
				if p99 > target*13/10 {
					t.Errorf("p99 is %v", p99)
				}
				value, prefillRate, decodeRate := oracle(c.streams, target)
				if got := valueOf(prefill, decode, prefillRate, decodeRate); got < 0.85*value {
					t.Errorf("prefill and decode at %.0f and %.0f tokens/s, a value of %.0f; %.0f was possible", prefill, decode, got, value)
				}
				if use := prefill/prefillRate + decode/decodeRate; use < c.use {
					t.Errorf("the machine is used to %.3f", use)
				}
			})
		}
	}
}

// TestScheduler_ITLTarget_HoldsAtAnyDepth: where the cost of a token grows with what it attends
// to, and a large chunk has a pass of its own, the target holds too.
func TestScheduler_ITLTarget_HoldsAtAnyDepth(t *testing.T) {
	for _, separate := range []bool{false, true} {
		for _, target := range []time.Duration{80 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
			t.Run(fmt.Sprintf("separate passes %t, %v", separate, target), func(t *testing.T) {
				m := newMixedOn(t, 4, 2, scheduler.Config{ITLTarget: target}, schedulertest.Deep, separate)
				m.measure(20 * time.Second)
				p99, prefill, decode := m.measure(200 * time.Second)
				if p99 > target*13/10 {
					t.Errorf("p99 is %v", p99)
				}
				if prefill < 15 || decode < 8 {
					t.Errorf("prefill and decode at %.0f and %.0f tokens/s", prefill, decode)
				}
				t.Logf("p99 %v, prefill %.0f, decode %.0f tokens/s", p99, prefill, decode)
			})
		}
	}
}

// TestScheduler_ITLTarget_HoldsForAnyLengths: the same for prompts of other lengths. One seed in
// eight may miss the target: the ends of prompts have sizes of their own, which may be too rare
// for their cost to be learned.
func TestScheduler_ITLTarget_HoldsForAnyLengths(t *testing.T) {
	for _, separate := range []bool{false, true} {
		for _, target := range []time.Duration{150 * time.Millisecond, 400 * time.Millisecond} {
			var all []time.Duration
			for seed := range uint64(8) {
				m := newMixedOn(t, 4, 0, scheduler.Config{ITLTarget: target}, schedulertest.Deep, separate)
				m.rng = rand.New(rand.NewPCG(seed, 7))
				m.addClients(t, 2)
				m.measure(20 * time.Second)
				p99, _, _ := m.measure(100 * time.Second)
				all = append(all, p99)
			}
			slices.Sort(all)
			if all[6] > target*13/10 {
				t.Errorf("separate passes %t, %v: p99 of eight seeds is %v", separate, target, all)
			}
		}
	}
}

// TestScheduler_PrefillShare_IsKeptAboveTheTarget: a target that leaves no room for prompts does
// not stop them.
func TestScheduler_PrefillShare_IsKeptAboveTheTarget(t *testing.T) {
	for _, share := range []float64{0.1, 0.5} {
		m := newMixed(t, 4, 2, scheduler.Config{ITLTarget: time.Millisecond, PrefillShare: share})
		m.measure(10 * time.Second)
		_, prefill, decode := m.measure(100 * time.Second)
		alone := float64(schedulertest.Measured.Cost(4, 0).Seconds()) / 4
		if got := 1 - decode*alone; got < 0.8*share || prefill == 0 {
			t.Errorf("prompts had %.2f of the time, owed are %.2f", got, share)
		}
	}
}

// TestScheduler_ShortPrompt_DoesNotWaitBehindALongOne: fair shares, not first come first served.
func TestScheduler_ShortPrompt_DoesNotWaitBehindALongOne(t *testing.T) {
	for _, generating := range []int{0, 4} {
		m := newMixed(t, generating, 2, scheduler.Config{})
		m.measure(10 * time.Second)
		start := m.b.Now()
		short := submit(t, m.s, m.request(30, 1))
		m.prompts = append(m.prompts, submit(t, m.s, m.request(2000, 1)))
		for a := new(received); a.end == nil; a.read(short) {
			m.step()
		}
		alone := schedulertest.Measured.Cost(30, 0)
		if took := m.b.Now().Sub(start); took > 12*alone {
			t.Errorf("%d generating: the first token of a short prompt took %v, alone %v", generating, took, alone)
		}
	}
}

// rowDraw is what llama.cpp's common chain takes to draw from a row of 128,256 logits;
// hostProcessors share such draws and plugins.
const (
	rowDraw        = 60 * time.Microsecond
	hostProcessors = 16
)

var gpus = map[string]schedulertest.Device{"8B": schedulertest.H100With8B, "70B": schedulertest.H100sWith70B}

// idleLoad is streams on a GPU server, some of them with a plugin.
type idleLoad struct {
	device          schedulertest.Device
	native, plugins int
	plugin          time.Duration // that one takes for a token
}

// idleUse is what became of it.
type idleUse struct {
	idle                  float64 // share of the time in which the device computes nothing
	native, plugin, total float64 // tokens of a stream of each kind in a pass, and of all in a second
}

func (l idleLoad) String() string {
	return fmt.Sprintf("%d without, %d with a plugin of %v", l.native, l.plugins, l.plugin)
}

// run measures for two seconds of a bubble's time.
func (l idleLoad) run(t *testing.T) (use idleUse) {
	synctest.Test(t, func(t *testing.T) {
		n := l.native + l.plugins
		b := schedulertest.New(scheduler.Limits{Cells: n * 4096, Context: 4096, Batch: 2048, Sequences: 256})
		b.Device = &l.device
		h := schedulertest.NewMachine(b, hostProcessors)
		h.Draw = rowDraw
		s := must.Get(scheduler.New(h, scheduler.Config{Slots: n, ITLTarget: time.Second}))(t)
		streams := make([]*scheduler.Stream, n)
		for i := range streams {
			r := request(500, i, 0)
			r.CachePrompt = false
			if i >= l.native {
				r.Chain = []chain.Stage{&guest{apply: func(*chain.View) error { h.Work(l.plugin); return nil }}, schedulertest.Sampled{}}
			}
			streams[i] = submit(t, s, r)
		}
		counts := make([]int, n)
		step := func() {
			if !s.Tick() {
				time.Sleep(10 * time.Microsecond) // only background samplers are busy
			}
			for i, st := range streams {
				for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
					if e.Kind == scheduler.KindToken {
						counts[i]++
					}
				}
			}
		}
		for slices.Min(counts) < 70 { // the tick knows whom to wait for
			step()
		}
		clear(counts)
		start, computing, passes := time.Now(), h.Computing, h.Passes
		for time.Since(start) < 2*time.Second {
			step()
		}
		took := time.Since(start).Seconds()
		each := func(counts []int) float64 {
			all := 0
			for _, n := range counts {
				all += n
			}
			use.total += float64(all) / took
			return float64(all) / float64(max(len(counts), 1)*(h.Passes-passes))
		}
		use.idle = 1 - (h.Computing-computing).Seconds()/took
		use.native, use.plugin = each(counts[:l.native]), each(counts[l.native:])
		for _, st := range streams {
			st.Cancel()
		}
		time.Sleep(time.Second) // plugins end
		for range 2 {
			s.Tick()
			synctest.Wait()
		}
	})
	return use
}

// TestScheduler_GPU_DoesNotWaitForPlugins: plugins that are never done in time leave a GPU no more
// idle than draws without plugins do, and the streams beside them get a token in each pass. So do
// streams whose plugins are done in time.
func TestScheduler_GPU_DoesNotWaitForPlugins(t *testing.T) {
	for name, device := range gpus {
		alone := idleLoad{device, 64, 0, 0}.run(t)
		t.Logf("%s, 64 without a plugin: idle %.1f%%", name, 100*alone.idle)
		if alone.idle > 0.03 {
			t.Errorf("%s: the device is idle for %.3f of the time while rows are drawn from", name, alone.idle)
		}
		for _, l := range []idleLoad{
			{device, 63, 1, 4 * time.Millisecond},
			{device, 63, 1, 20 * time.Millisecond},
			{device, 56, 8, 5 * time.Millisecond},
			{device, 63, 1, 300 * time.Microsecond},
			{device, 56, 8, 300 * time.Microsecond},
		} {
			use := l.run(t)
			t.Logf("%s, %v: idle %.1f%%, tokens a pass %.2f and %.2f", name, l, 100*use.idle, use.native, use.plugin)
			if use.idle > alone.idle+0.015 || use.native < 0.99 {
				t.Errorf("%s, %v: idle %.3f, alone %.3f; %.2f tokens a pass without a plugin", name, l, use.idle, alone.idle, use.native)
			}
			if inTime := l.plugin < time.Millisecond; inTime != (use.plugin > 0.99) {
				t.Errorf("%s, %v: %.2f tokens a pass with a plugin", name, l, use.plugin)
			}
		}
	}
}

// TestScheduler_GPU_PluginsForAll: where each stream has a plugin, the passes get on without those
// that are not done.
func TestScheduler_GPU_PluginsForAll(t *testing.T) {
	for name, device := range gpus {
		for _, took := range []time.Duration{100 * time.Microsecond, 500 * time.Microsecond, 2 * time.Millisecond} {
			l := idleLoad{device, 0, 64, took}
			use := l.run(t)
			t.Logf("%s, %v: idle %.1f%%, %.2f tokens a pass each, %.0f tokens/s in all", name, l, 100*use.idle, use.plugin, use.total)
			if use.idle > 0.12 {
				t.Errorf("%s, %v: the device is idle for %.3f of the time", name, l, use.idle)
			}
		}
	}
}

// gpuLoads are loads of a GPU server: streams at some depth, and clients that send prompts.
var gpuLoads = []struct {
	name                            string
	device                          schedulertest.Device
	streams, depth, clients, length int
	targets                         []time.Duration
}{
	{"8B, 8 streams", schedulertest.H100With8B, 8, 1000, 2, 1500, targets(25, 50, 100)},
	{"8B, 64 streams", schedulertest.H100With8B, 64, 1000, 8, 1500, targets(25, 50, 100)},
	{"8B, 256 streams", schedulertest.H100With8B, 192, 1000, 32, 1500, targets(50, 100)},
	{"8B, 4 streams of 128k tokens", schedulertest.H100With8B, 4, 100_000, 1, 60_000, targets(80, 150)},
	{"70B, 16 streams", schedulertest.H100sWith70B, 16, 1000, 4, 1500, targets(50, 100)},
	{"70B, 4 streams of 128k tokens", schedulertest.H100sWith70B, 4, 100_000, 1, 60_000, targets(80, 150)},
}

func targets(n ...int) (all []time.Duration) {
	for _, ms := range n {
		all = append(all, time.Duration(ms)*time.Millisecond)
	}
	return all
}

// TestScheduler_GPU_KeepsTargetAndIsUsed: with the costs of GPUs, too, the p99 gap stays within
// 1.3 × the target and the machine is well used: prompts and answers get together what they would
// get by turns.
func TestScheduler_GPU_KeepsTargetAndIsUsed(t *testing.T) {
	for _, load := range gpuLoads {
		for _, target := range load.targets {
			t.Run(fmt.Sprintf("%s at %v", load.name, target), func(t *testing.T) {
				cells := load.streams*(load.depth+20_000) + load.clients*2*load.length
				b := schedulertest.New(scheduler.Limits{Cells: cells, Context: 1 << 18, Batch: 2048, Sequences: 256})
				b.Device = &load.device
				m := &mixed{b: b, begin: load.depth, length: load.length}
				m.start(t, load.streams, load.clients, scheduler.Config{ITLTarget: target})
				m.measure(10 * time.Second)
				p99, prefill, decode := m.measure(20 * time.Second)
				if p99 > target*13/10 {
					t.Errorf("p99 is %v", p99)
				}
				d, depth := load.device, load.depth+40+int(20*decode)/load.streams // in the middle of what was measured
				bestPrefill := 0.0
				for n := 64; n <= 2048; n *= 2 {
					took := d.Launch + max(d.Weights, time.Duration(n)*d.Token) + time.Duration(load.length)*(d.Read+time.Duration(n)*d.Attend)
					bestPrefill = math.Max(bestPrefill, float64(n)/took.Seconds())
				}
				bestDecode := float64(load.streams) / (d.Launch + max(d.Weights, time.Duration(load.streams)*d.Token) +
					time.Duration(load.streams*depth)*(d.Read+d.Attend)).Seconds()
				use := prefill/bestPrefill + decode/bestDecode
				t.Logf("p99 %v, prefill %.0f of %.0f and decode %.0f of %.0f tokens/s, used to %.2f", p99, prefill, bestPrefill, decode, bestDecode, use)
				if use < 0.9 {
					t.Errorf("the machine is used to %.2f", use)
				}
			})
		}
	}
}

// asker submits prompts of so many tokens for one token each, none with anything that another has.
func asker(t *testing.T, s *scheduler.Scheduler) func(n int) *scheduler.Stream {
	seed := 0
	return func(n int) *scheduler.Stream {
		seed++
		r := request(n, seed, 1)
		r.CachePrompt = false
		return submit(t, s, r)
	}
}

// However many prompts of a few hundred tokens keep coming, a long one is overtaken by eight times
// its own tokens and no more.
func TestScheduler_LongPrompt_EndsAmongEndlessShorterOnes(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Context: 1 << 14, Batch: 512})
	b.Cost = schedulertest.Measured.Cost
	s := newScheduler(t, b, scheduler.Config{})
	const size = 2000
	ask := asker(t, s)
	var others []*scheduler.Stream
	for range 4 {
		others = append(others, ask(200))
	}
	long, a := ask(size), new(received)
	for a.read(long); a.end == nil; a.read(long) {
		s.Tick()
		for i, st := range others {
			other := new(received)
			if other.read(st); other.end != nil {
				others[i] = ask(200)
			}
		}
		if b.Tokens > 11*size {
			t.Fatalf("%d tokens were computed, and the prompt of %d is not done", b.Tokens, size)
		}
	}
	if b.Tokens < 3*size {
		t.Errorf("only %d tokens were computed: shorter prompts do not go first", b.Tokens)
	}
}

// Equal prompts are computed one after the other: the first is done long before the last.
func TestScheduler_EqualPrompts_OneAfterTheOther(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Context: 1 << 14, Batch: 512})
	b.Cost = schedulertest.Measured.Cost
	s := newScheduler(t, b, scheduler.Config{})
	var streams []*scheduler.Stream
	for i := range 4 {
		r := request(2000, i, 1)
		r.CachePrompt = false
		streams = append(streams, submit(t, s, r))
	}
	for a := new(received); a.end == nil; a.read(streams[0]) {
		s.Tick()
	}
	if b.Tokens > 2*2000 {
		t.Errorf("the first of four prompts of 2,000 tokens was done after %d tokens", b.Tokens)
	}
	finish(t, s, streams[1:]...)
}

// Every eighth tick goes to the prompt that has waited longest, whatever else waits: ticks of
// short prompts alone do not take its place.
func TestScheduler_LongestWait_HasEveryEighthTick(t *testing.T) {
	for before := range 4 {
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 16, Context: 1 << 16, Batch: 512})
		b.Cost = schedulertest.Measured.Cost
		s := newScheduler(t, b, scheduler.Config{})
		ask := asker(t, s)
		ended := func(st *scheduler.Stream) bool {
			a := new(received)
			a.read(st)
			return a.end != nil
		}
		for range before { // the two rules shall not depend on which tick is the first
			for st := ask(10); !ended(st); {
				s.Tick()
			}
		}
		long := ask(20_000)
		sizes := []int{20, 600, 600}
		others := make([]*scheduler.Stream, len(sizes))
		served, computed := 0, 0
		const ticks = 160
		for range ticks {
			for i, st := range others {
				if st == nil || ended(st) {
					others[i] = ask(sizes[i])
				}
			}
			s.Tick()
			if now := scheduler.Computed(long); now > computed {
				served, computed = served+1, now
			}
		}
		if served < ticks/8-1 {
			t.Errorf("%d before: the long prompt was computed in %d of %d ticks", before, served, ticks)
		}
	}
}

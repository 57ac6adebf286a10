// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// machine is the cost of a pass on one kind of computer.
type machine struct {
	name     string
	separate bool                // decode tokens and prompt tokens in two passes
	row      time.Duration       // for each row of logits
	cell     time.Duration       // for each KV cell that a token attends to
	curve    schedulertest.Curve // for the number of tokens
}

// Milliseconds of a 135M Llama in Q4_0 on two cores, without the rows of logits; and of a larger
// model on a GPU.
var (
	cpuCurve = schedulertest.Curve{{1, 7.5}, {8, 10}, {16, 15}, {32, 24}, {64, 41}, {128, 76}, {256, 142}, {512, 260}, {2048, 1040}}
	gpuCurve = schedulertest.Curve{{1, 10}, {64, 11}, {128, 14}, {256, 24}, {512, 44}, {2048, 170}}
	machines = []machine{
		{"cpu", true, 1500 * time.Microsecond, 150 * time.Nanosecond, cpuCurve},
		{"cpu in one pass", false, 1500 * time.Microsecond, 150 * time.Nanosecond, cpuCurve},
		{"gpu", false, 10 * time.Microsecond, time.Nanosecond, gpuCurve},
		{"old kernels", false, 0, 0, schedulertest.Measured},
	}
)

// asked is a request of a scenario.
type asked struct {
	after        time.Duration
	class        string
	fewest, most int // prompt tokens
	answer       int // tokens to generate
	priority     int
	again        bool // another one follows as soon as it has ended
}

// scenario is what clients do.
type scenario struct {
	name  string
	lasts time.Duration // 0: until every answer has ended
	asks  []asked
}

func times(n int, a asked) []asked { return slices.Repeat([]asked{a}, n) }

// every repeats a request at an interval.
func every(d time.Duration, n int, a asked) (all []asked) {
	for i := range n {
		all = append(all, a)
		all[i].after += time.Duration(i) * d
	}
	return all
}

func streaming() asked { return prompts("stream", 16, 32, 100_000) }

func longPrompt(after time.Duration) asked {
	return prompts("long", 1500, 2500, 16).at(after).endless()
}

func shortPrompt(after time.Duration, answer int) asked {
	return prompts("short", 16, 64, answer).at(after)
}

// prompts is a request of a class with that many prompt tokens and that long an answer.
func prompts(class string, fewest, most, answer int) asked {
	return asked{class: class, fewest: fewest, most: most, answer: answer}
}

func (a asked) endless() asked { a.again = true; return a }

func (a asked) at(after time.Duration) asked { a.after = after; return a }

var learning = []scenario{
	{"1+1", 20 * time.Second, []asked{streaming(), longPrompt(time.Second)}},
	{"4+2", 20 * time.Second, slices.Concat(times(4, streaming()), times(2, longPrompt(time.Second)))},
	{"8+2", 20 * time.Second, slices.Concat(times(8, streaming()), times(2, longPrompt(time.Second)))},
	{"16+4", 20 * time.Second, slices.Concat(times(16, streaming()), times(4, longPrompt(time.Second)))},
}

var scenarios = append(slices.Clone(learning), []scenario{
	{"8+2 and short", 20 * time.Second, slices.Concat(times(8, streaming()), times(2, longPrompt(time.Second)), every(700*time.Millisecond, 25, shortPrompt(time.Second, 16)))},
	{"16 at once", 0, times(16, shortPrompt(0, 64))},
	{"8 into 8", 4 * time.Second, slices.Concat(times(8, streaming()), times(8, shortPrompt(time.Second, 32)))},
	{"16 into 8", 6 * time.Second, slices.Concat(times(8, streaming()), times(16, shortPrompt(time.Second, 32)))},
	{"40 into 8", 8 * time.Second, slices.Concat(times(8, streaming()), times(40, shortPrompt(time.Second, 32)))},
	{"short beside 1", 0, append(every(500*time.Millisecond, 3, shortPrompt(300*time.Millisecond, 8)), prompts("long", 4000, 4000, 1))},
	{"short beside 4", 0, slices.Concat(times(4, prompts("long", 2000, 8000, 1)), every(2*time.Second, 5, shortPrompt(300*time.Millisecond, 8)))},
	{"medium beside 4", 0, slices.Concat(times(4, prompts("long", 2000, 8000, 1)), every(2*time.Second, 5, prompts("short", 150, 400, 8).at(300*time.Millisecond)))},
	{"endless short", 30 * time.Second, append(times(8, prompts("short", 16, 64, 4).endless()), prompts("long", 4000, 4000, 1).at(time.Second))},
	{"endless medium", 60 * time.Second, append(times(8, prompts("short", 100, 300, 4).endless()), prompts("long", 4000, 4000, 1).at(time.Second))},
	{"priorities", 0, append(times(4, prompts("long", 4000, 4000, 1)), asked{after: time.Second, class: "short", fewest: 4000, most: 4000, answer: 1, priority: 1})},
	{"1 prompt", 0, times(1, prompts("long", 2000, 2000, 1))},
	{"8 prompts", 0, times(8, prompts("long", 2000, 2000, 1))},
	{"4 and 8 prompts", 0, slices.Concat(times(4, prompts("stream", 16, 16, 400)), times(8, prompts("long", 2000, 2000, 1).at(time.Second)))},
}...)

// figures are what users feel, by class of request.
type figures struct {
	gaps, first map[string][]time.Duration // between tokens; to the first token
	rate        float64                    // prompt tokens a second while a prompt waits
}

// add adds the figures of a run to the sums of all.
func (f *figures) add(sums map[string]float64) {
	sums["prompt-tokens/s"] += f.rate
	for class, times := range f.first {
		if class != "stream" {
			sums[class+"-TTFT-ms"] += milliseconds(times, 0.5)
			sums[class+"-TTFT-max-ms"] += milliseconds(times, 1)
		}
	}
	if gaps := f.gaps["stream"]; len(gaps) > 0 {
		sums["ITL-ms"] += milliseconds(gaps, 0.5)
		sums["ITL-p99-ms"] += milliseconds(gaps, 0.99)
		sums["ITL-max-ms"] += milliseconds(gaps, 1)
	}
}

func milliseconds(d []time.Duration, quantile float64) float64 {
	slices.Sort(d)
	return d[min(int(quantile*float64(len(d))), len(d)-1)].Seconds() * 1000
}

// simulation runs scenarios on one scheduler.
type simulation struct {
	t      testing.TB
	b      *schedulertest.Backend
	s      *scheduler.Scheduler
	noise  *rand.Rand
	sizes  *rand.Rand
	serial int
}

// simRequest is a request on its way.
type simRequest struct {
	asked
	st   *scheduler.Stream
	sent time.Time
	last time.Time
	done bool
}

func newSimulation(t testing.TB, m machine, seed uint64, c scheduler.Config) *simulation {
	sim := &simulation{t: t, noise: rand.New(rand.NewPCG(seed, 1))}
	sim.b = schedulertest.New(scheduler.Limits{Cells: 1 << 17, Context: 1 << 17, Batch: 2048, Sequences: 64, Rows: 64, SeparatePasses: m.separate})
	sim.b.Cost = func(tokens, cells int) time.Duration {
		return sim.noisy(m.curve.Cost(tokens, 0) + time.Duration(cells)*m.cell)
	}
	sim.b.Fail = func(b *scheduler.Batch) error {
		sim.b.Advance(time.Duration(b.Rows()) * m.row)
		return nil
	}
	c.Slots = 60
	sim.s = newScheduler(t, sim.b, c)
	return sim
}

// noisy lets a pass take a few percent more or less, and one in a hundred several times as long.
func (sim *simulation) noisy(d time.Duration) time.Duration {
	f := 1 + 0.04*sim.noise.NormFloat64()
	if sim.noise.IntN(100) == 0 {
		f *= 1 + 2*sim.noise.Float64()
	}
	return time.Duration(float64(d) * max(f, 0.9))
}

func (sim *simulation) submit(a asked) *simRequest {
	sim.serial++
	r := request(a.fewest+sim.sizes.IntN(a.most-a.fewest+1), sim.serial, a.answer)
	r.CachePrompt, r.Priority, r.Overflow = false, a.priority, scheduler.DropOldest
	return &simRequest{asked: a, st: submit(sim.t, sim.s, r), sent: sim.b.Now()}
}

// run does a scenario from beginning to end and leaves the scheduler idle.
func (sim *simulation) run(sc scenario, seed uint64) *figures {
	sim.sizes = rand.New(rand.NewPCG(seed, 2))
	f := &figures{gaps: map[string][]time.Duration{}, first: map[string][]time.Duration{}}
	coming := slices.SortedStableFunc(slices.Values(sc.asks), func(a, b asked) int { return cmp.Compare(a.after, b.after) })
	var all []*simRequest
	start := sim.b.Now()
	tokens, generated := sim.b.Tokens, 0
	computing := time.Duration(0)
	for {
		for len(coming) > 0 && sim.b.Now().Sub(start) >= coming[0].after {
			all = append(all, sim.submit(coming[0]))
			coming = coming[1:]
		}
		before := sim.b.Now()
		waits := slices.ContainsFunc(all, func(r *simRequest) bool { return !r.done && r.last.IsZero() })
		if !sim.s.Tick() {
			if len(coming) == 0 {
				break
			}
			sim.b.Advance(max(coming[0].after-sim.b.Now().Sub(start), 1))
			continue
		}
		if waits {
			computing += sim.b.Now().Sub(before)
		}
		for i, r := range all {
			generated += sim.read(f, r)
			if r.done && r.again && sim.b.Now().Sub(start) < sc.lasts {
				all[i] = sim.submit(r.asked)
			}
		}
		all = slices.DeleteFunc(all, func(r *simRequest) bool { return r.done })
		if sc.lasts > 0 && sim.b.Now().Sub(start) >= sc.lasts && len(coming) == 0 {
			break
		}
	}
	f.rate = float64(sim.b.Tokens-tokens-generated) / computing.Seconds()
	for _, r := range all {
		if r.last.IsZero() && r.class != "stream" { // what has no first token yet counts as if it came now
			f.first[r.class] = append(f.first[r.class], sim.b.Now().Sub(r.sent))
		}
		r.st.Cancel()
	}
	sim.s.Tick()
	return f
}

// read notes what a request got in a tick.
func (sim *simulation) read(f *figures, r *simRequest) (tokens int) {
	for e, ok := r.st.TryNext(); ok; e, ok = r.st.TryNext() {
		switch {
		case e.Kind == scheduler.KindEnd:
			r.done = true
		case e.Kind != scheduler.KindToken:
		case r.last.IsZero():
			f.first[r.class] = append(f.first[r.class], sim.b.Now().Sub(r.sent))
			r.last = sim.b.Now()
			tokens++
		default:
			f.gaps[r.class] = append(f.gaps[r.class], sim.b.Now().Sub(r.last))
			r.last = sim.b.Now()
			tokens++
		}
	}
	return tokens
}

// BenchmarkPrefill tells what the choice of chunks and their order are worth to users: what it
// reports are means over simulated runs (-benchtime 15x for fifteen), the time an operation takes
// means nothing. docs/measurements.md has a table made with it.
func BenchmarkPrefill(b *testing.B) {
	for _, m := range machines {
		for _, sc := range scenarios {
			b.Run(m.name+"/"+sc.name, func(b *testing.B) {
				sums := map[string]float64{}
				for seed := range uint64(b.N) {
					sim := newSimulation(b, m, seed, scheduler.Config{})
					for _, w := range learning { // the costs are learned
						w.lasts = 10 * time.Second
						sim.run(w, seed)
					}
					sim.run(sc, seed).add(sums)
				}
				for name, sum := range sums {
					b.ReportMetric(sum/float64(b.N), name)
				}
			})
		}
	}
}

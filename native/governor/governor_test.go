// SPDX-License-Identifier: MIT

package governor

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// machine is some cores, on which other programs are busy. A thread that shares its core runs less
// than half of the time, and a pass goes on while all its threads run.
type machine struct {
	cores, others int
	random        *rand.Rand
}

// compute is how long a pass takes that one thread alone computes in 16 ms, and how long threads
// wait in it.
func (m *machine) compute(threads int) (took, stalled time.Duration) {
	const work = 16 * time.Millisecond
	alone := work / time.Duration(threads)
	displaced := min(max(0, threads+m.others-m.cores), threads)
	took = time.Duration(float64(alone) * math.Pow(2.5, float64(displaced)) * (0.8 + 0.4*m.random.Float64()))
	if displaced > 0 {
		stalled = max(0, took-alone) * time.Duration(threads-1)
	}
	return took, stalled
}

// governor is one of a context with a thread for each core.
func (m *machine) governor() *Governor {
	g := New(m.cores)
	g.idle = func() float64 { return float64(max(0, m.cores-m.others-g.now)) }
	return g
}

// speed is how long passes take on average, once the governor knows the machine; threads are those
// of the last one.
func speed(g *Governor, m *machine, tokens ...int) (took time.Duration, threads map[int]int) {
	for i := range 600 {
		t, stalled := m.compute(g.Threads(tokens[i%len(tokens)]))
		g.Observe(t, stalled)
	}
	threads = map[int]int{}
	for i := range 400 {
		n := g.Threads(tokens[i%len(tokens)])
		t, stalled := m.compute(n)
		g.Observe(t, stalled)
		threads[n]++
		took += t / 400
	}
	return took, threads
}

// TestGovernor_Quiet_AllThreads wants no trial where nobody else computes.
func TestGovernor_Quiet_AllThreads(t *testing.T) {
	m := &machine{cores: 8, random: steadytest.Rand(t)}
	if _, threads := speed(m.governor(), m, 1, 5); len(threads) != 1 || threads[8] == 0 {
		t.Errorf("passes by threads: %v", threads)
	}
}

// TestGovernor_Busy_FewerThreads wants passes beside other programs to be nearly as fast as with
// the best number of threads, whether or not passes of two sizes take turns.
func TestGovernor_Busy_FewerThreads(t *testing.T) {
	random := steadytest.Rand(t)
	for _, c := range []struct{ cores, others int }{{2, 1}, {4, 1}, {8, 3}, {16, 4}, {16, 12}} {
		for _, tokens := range [][]int{{1}, {1, 40}} {
			m := &machine{cores: c.cores, others: c.others, random: random}
			best := time.Hour
			for n := 1; n <= c.cores; n++ {
				var sum time.Duration
				for range 400 {
					took, _ := m.compute(n)
					sum += took / 400
				}
				best = min(best, sum)
			}
			if took, threads := speed(m.governor(), m, tokens...); took > best*3/2 {
				t.Errorf("%d programs on %d cores: %v a pass, the best is %v; passes by threads: %v", c.others, c.cores, took, best, threads)
			}
		}
	}
}

// TestGovernor_QuietAgain_AllThreads wants all threads back when the other programs have ended.
func TestGovernor_QuietAgain_AllThreads(t *testing.T) {
	m := &machine{cores: 2, others: 2, random: steadytest.Rand(t)}
	g := m.governor()
	if _, threads := speed(g, m, 1); threads[2] > 8 { // a trial now and then
		t.Errorf("busy: %v", threads)
	}
	m.others = 0
	if _, threads := speed(g, m, 1); threads[1] > 0 {
		t.Errorf("quiet again: %v", threads)
	}
}

// TestIdleCores_AreThisProcesss wants no more idle cores than this process may use, but for what
// the system rounds: it counts hundredths of a second.
func TestIdleCores_AreThisProcesss(t *testing.T) {
	idle, began := idleCores(), time.Now()
	before := idle()
	time.Sleep(50 * time.Millisecond)
	passed := time.Since(began).Seconds()
	n := idle()
	if most := float64(runtime.NumCPU()) * (1 + 3*0.01/passed); before > 0 || n > most { // three figures of each
		t.Errorf("%v cores are idle at first, then %v of %d", before, n, runtime.NumCPU())
	}
}

// TestIdleTicks wants the lines of single processors, idle and waiting for disks, of those that
// are wanted.
func TestIdleTicks(t *testing.T) {
	const stat = "cpu  9 9 9 900 90 9 9\ncpu0 1 2 3 100 20 3 4\ncpu1 1 2 3 50 0 3 4\ncpu12 1 1 1 7 7 7 7\nintr 5 6\n"
	if got := idleTicks(stat, false, func(cpu int) bool { return cpu != 1 }); got != 100+20+7+7 {
		t.Errorf("%d ticks, want 134", got)
	}
	if got := idleTicks(stat, true, func(cpu int) bool { return cpu == 1 }); got != 50+2 {
		t.Errorf("%d ticks with those of a low priority, want 52", got)
	}
	for _, broken := range []string{"", "cpu0 1 2 3\n", "cpux 1 2 3 4 5\n", "cpu0 1 2 3 x y\n"} {
		if got := idleTicks(broken, false, func(int) bool { return true }); got != -1 {
			t.Errorf("%q: %d ticks", broken, got)
		}
	}
}

// SPDX-License-Identifier: MIT

// Package governor chooses how many threads compute forward passes while other programs take the
// processors.
//
// The threads of a pass meet after each operation. One that loses its processor for a time slice,
// some milliseconds, holds up all others, and a pass has hundreds of operations. With another
// program on one of two cores, two threads are slower than one. How many are best depends on what
// else runs, on the model and on the kernel's scheduler, so the governor tries: it has passes
// computed with fewer threads and with as many as before in turns, and keeps what was faster. It
// only does so when threads were seen to wait for one that has no processor, which does not happen
// on a quiet machine. It goes back the same way once a core was idle: beside busy programs, a
// single pass by one thread too many can take a second.
//
// # Why are there fewer threads on a busy machine?
//
// A thread that has lost its processor gets it back after a time slice of some milliseconds, and
// a pass has hundreds of barriers at which the others wait. Beside one busy program on two cores,
// one thread is twice as fast as two. native/governor finds out how many threads are fastest by
// computing passes with two counts in turns. Only naps start such a trial, so nothing is tried on
// a quiet machine, and more threads are tried once a core was idle. A rule that counts busy
// programs would need to know their priorities, their cgroups and the kernel's scheduler. What is
// computed is the same to the bit with any number of threads; where ggml's own attention
// computes, which adds up in as many parts as there are threads, the number stays.
package governor

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Governor is for one context. Its methods are called in turn: Threads before a pass, Observe
// after it.
type Governor struct {
	most, now int          // threads
	told      atomic.Int64 // now, for other goroutines

	tokens         int           // of the pass that runs
	stalled, taken time.Duration // of the last passes: by all threads together, and by the clock
	clock          time.Duration // all that passes have taken

	trial    *trial
	fewer    side // towards fewer threads
	more     side // towards more
	attempts int  // trials so far, which take turns in how far they go

	idle func() float64 // cores that were idle since the last call; negative: unknown
}

// side is one direction to try.
type side struct {
	due  time.Duration // of the next trial, on the governor's clock
	wait time.Duration // until the one after it, if that fails, too
	last time.Duration // the end of the last trial
}

// How the governor tries.
const (
	window     = 30 * time.Millisecond // over which it is seen whether threads stall
	stallShare = 0.05                  // of the time of all threads, from which on they do
	soon       = 250 * time.Millisecond
	seldom     = 4 * time.Second
	anyway     = 30 * time.Second      // after which more threads are tried though no core is idle: others may have a lower priority
	idleCore   = 0.5                   // cores that are idle on average, if a thread may have one
	enough     = 40 * time.Millisecond // of each count, to compare them
	pairs      = 3                     // at least
	better     = 0.93                  // of the time it takes now, from which on another count is taken
	hopeless   = 2                     // times as long: a trial ends at once
)

// trial compares two numbers of threads by passes over equally many tokens.
type trial struct {
	threads    int                   // in place of now
	first      map[int]time.Duration // of passes by the trial's threads, by tokens: the next one over as many is computed as now
	now, other time.Duration         // spent by passes that are pairs, with now's threads and the trial's
	pairs      int
	passes     int
}

// New makes the governor of a context with the given number of threads.
func New(most int) *Governor {
	g := &Governor{most: most, now: most, fewer: side{wait: soon}, more: side{wait: soon}, idle: idleCores()}
	g.told.Store(int64(most))
	return g
}

// Now is how many threads compute but for trials. It may be called from any goroutine.
func (g *Governor) Now() int { return int(g.told.Load()) }

// Threads is how many should compute a pass over a number of tokens.
func (g *Governor) Threads(tokens int) int {
	g.tokens = tokens
	if g.trial != nil && g.trial.first[tokens] == 0 {
		return g.trial.threads
	}
	return g.now
}

// Observe takes in how long the pass took, and how long its threads waited in it for one without a
// processor, all together.
func (g *Governor) Observe(took, stalled time.Duration) {
	g.clock += took
	if g.trial != nil {
		g.compare(took)
		return
	}
	g.taken += took
	g.stalled += stalled
	if g.taken < window {
		return
	}
	stalls := float64(g.stalled) > stallShare*float64(g.taken)*float64(g.now)
	g.taken, g.stalled = 0, 0
	switch {
	case stalls && g.now > 1 && g.clock >= g.fewer.due:
		g.begin(g.down())
	case g.now < g.most && g.clock >= g.more.due:
		if free := g.idle(); free >= 0 && free < idleCore && g.clock < g.more.last+anyway {
			g.more.due = g.clock + soon
			return
		}
		g.begin(g.up())
	}
}

// down and up are the numbers to try next: one step, and larger ones, in turns. With four of
// sixteen threads displaced, one less changes nothing.
func (g *Governor) down() int {
	g.attempts++
	return [...]int{max(1, g.now/2), g.now - 1, max(1, g.now*3/4)}[g.attempts%3]
}

func (g *Governor) up() int {
	g.attempts++
	return min(g.most, [...]int{2 * g.now, g.now + 1, (4*g.now + 2) / 3}[g.attempts%3])
}

func (g *Governor) begin(threads int) {
	g.trial = &trial{threads: threads, first: map[int]time.Duration{}}
}

// compare goes on with a trial, and ends it when it is clear which number of threads is faster.
func (g *Governor) compare(took time.Duration) {
	t := g.trial
	t.passes++
	if first := t.first[g.tokens]; first == 0 {
		t.first[g.tokens] = max(took, 1)
	} else {
		delete(t.first, g.tokens)
		t.other, t.now = t.other+first, t.now+took
		t.pairs++
	}
	switch {
	case t.pairs > 0 && t.other > enough && t.other > hopeless*t.now, t.passes > 16*pairs && t.pairs < pairs:
		g.end(false)
	case t.pairs >= pairs && min(t.now, t.other) >= enough:
		g.end(float64(t.other) < better*float64(t.now))
	}
}

// end ends a trial. What failed is tried less and less often, and so is the way back from what did
// not.
func (g *Governor) end(won bool) {
	this, back := &g.more, &g.fewer
	if g.trial.threads < g.now {
		this, back = back, this
	}
	if won {
		g.now = g.trial.threads
		g.told.Store(int64(g.now))
		this.wait, back.wait = soon, 2*soon
		back.due, back.last = g.clock+back.wait, g.clock
	} else {
		this.wait = min(2*this.wait, seldom)
	}
	if g.now < g.most {
		g.idle() // from now on
	}
	this.due, this.last = g.clock+this.wait, g.clock
	g.trial, g.taken, g.stalled = nil, 0, 0
}

// idleTicks is how long the wanted processors have been idle since the system started, in ticks,
// by the text of /proc/stat; -1: it does not say. If niceToo is set, the time of programs with a
// low priority counts: a thread with the usual one takes it from them.
func idleTicks(stat string, niceToo bool, wanted func(cpu int) bool) int64 {
	sum, known := int64(0), false
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil || !wanted(cpu) {
			continue
		}
		free := fields[4:6:6] // idle, and idle but for a disk
		if niceToo {
			free = append(free, fields[2])
		}
		for _, field := range free {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return -1
			}
			sum, known = sum+n, true
		}
	}
	if !known {
		return -1
	}
	return sum
}

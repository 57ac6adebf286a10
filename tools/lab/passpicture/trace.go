// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"cmp"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// event is one line of a trace.
type event struct {
	at        time.Duration // since the first
	thread    int
	kind      kind
	displaced bool // of leaves: the thread would have gone on
}

type kind int

const (
	runs    kind = iota // the thread gets a processor
	leaves              // it has none any more
	arrives             // at the barrier
	passes              // goes on from there
)

var (
	line     = regexp.MustCompile(`^\s*.+-(\d+)\s+\[\d+\]\s+\S+\s+(\d+\.\d+): (\w+): (.*)$`)
	switched = regexp.MustCompile(`prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> .*next_pid=(\d+)`)
)

// parse reads the text of a trace: events sched_switch, and barrier and passed of record.sh. Other
// lines count for nothing.
func parse(text io.Reader) (events []event, err error) {
	var first time.Duration
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		thread, _ := strconv.Atoi(m[1]) // digits
		seconds, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		at := time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
		if len(events) == 0 {
			first = at
		}
		at -= first
		switch m[3] {
		case "barrier":
			events = append(events, event{at: at, thread: thread, kind: arrives})
		case "passed":
			events = append(events, event{at: at, thread: thread, kind: passes})
		case "sched_switch":
			s := switched.FindStringSubmatch(m[4])
			if s == nil {
				continue
			}
			before, _ := strconv.Atoi(s[1])
			after, _ := strconv.Atoi(s[3])
			events = append(events, event{at, before, leaves, s[2][0] == 'R'}, event{at: at, thread: after, kind: runs})
		}
	}
	return events, lines.Err()
}

// state is what a thread does.
type state int

const (
	unknown state = iota // also: asleep between two passes
	computing
	spinning  // waits at the barrier on its processor
	napping   // waits there without one
	displaced // would compute, but has no processor
	states
)

// span is a time in one state.
type span struct {
	state      state
	begin, end time.Duration
}

// lane is a thread in a part of a trace.
type lane struct {
	thread int
	begin  time.Duration // of the part
	spans  []span
}

// lanesOf follows the threads that met at the barrier between from and to. A pass has two threads,
// so they may leave it once both are there. If one has no processor then, the other waits for it at
// the next.
func lanesOf(events []event, from, to time.Duration) []lane {
	threads := map[int]*follower{}
	var waiting *follower // the thread that is at the barrier and waits for the other
	for _, e := range events {
		f := threads[e.thread]
		if f == nil {
			f = &follower{thread: e.thread, from: from, to: to}
			threads[e.thread] = f
		}
		f.take(e)
		switch {
		case e.kind == passes && waiting == f:
			f.alone()
			waiting = nil
		case e.kind == arrives && waiting != nil && waiting != f:
			waiting.until(e.at)
			waiting.released, f.released = true, true
			waiting = nil
		case e.kind == arrives:
			waiting = f
		}
	}
	var lanes []lane
	for _, f := range slices.SortedFunc(maps.Values(threads), func(a, b *follower) int { return cmp.Compare(a.thread, b.thread) }) {
		f.until(to)
		if f.met {
			lanes = append(lanes, lane{f.thread, from, f.spans})
		}
	}
	return lanes
}

// follower knows what a thread does at one time.
type follower struct {
	thread                        int
	from, to, since, arrived      time.Duration
	running, atBarrier, displaced bool
	released                      bool // from the barrier
	met                           bool // at the barrier, in the part that counts
	known                         bool // whether it runs
	spans                         []span
}

func (f *follower) state() state {
	switch {
	case !f.known:
		return unknown
	case f.running && f.atBarrier && !f.released:
		return spinning
	case f.running:
		return computing
	case f.atBarrier && !f.released:
		return napping
	case f.atBarrier || f.displaced:
		return displaced
	}
	return unknown
}

func (f *follower) take(e event) {
	f.until(e.at)
	switch e.kind {
	case runs:
		f.running = true
	case leaves:
		f.running, f.displaced = false, e.displaced
	case arrives:
		f.running, f.atBarrier, f.released, f.arrived = true, true, false, e.at
		f.met = f.met || e.at >= f.from && e.at < f.to
	case passes:
		f.running, f.atBarrier = true, false
	}
	f.known = true
}

// alone makes the time at the barrier that it has just passed part of the work: no other thread
// came, so the pass has one, and what took time is the trace.
func (f *follower) alone() {
	for i := len(f.spans) - 1; i >= 0 && f.spans[i].begin >= f.arrived; i-- {
		if f.spans[i].state == spinning {
			f.spans[i].state = computing
		}
	}
}

// until notes what the thread has done since the last event.
func (f *follower) until(now time.Duration) {
	begin, end := max(f.since, f.from), min(now, f.to)
	f.since = now
	s := f.state()
	if s == unknown || end <= begin {
		return
	}
	if n := len(f.spans); n > 0 && f.spans[n-1].state == s && f.spans[n-1].end == begin {
		f.spans[n-1].end = end
		return
	}
	f.spans = append(f.spans, span{s, begin, end})
}

// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

const header = `# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
`

// Thread 11 loses its processor while it computes. Thread 12 waits on its own, then in a nap; both
// meet, and thread 11 has no processor again when it could go on.
const together = header + `
        penstock-11      [000] d..2.  100.000000: barrier: (0x16ed030)
        penstock-12      [001] d..2.  100.000000: barrier: (0x16ed030)
        penstock-11      [000] d..2.  100.000000: passed: (0x16da083 <- 0x16ed030)
        penstock-12      [001] d..2.  100.000000: passed: (0x16da083 <- 0x16ed030)
        penstock-11      [000] d..2.  100.001000: sched_switch: prev_comm=penstock prev_pid=11 prev_prio=120 prev_state=R ==> next_comm=sh next_pid=20 next_prio=120
        penstock-12      [001] d..2.  100.002000: barrier: (0x16ed030)
        penstock-12      [001] d..2.  100.002500: sched_switch: prev_comm=penstock prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
              sh-20      [000] d..2.  100.004000: sched_switch: prev_comm=sh prev_pid=20 prev_prio=120 prev_state=R ==> next_comm=penstock next_pid=11 next_prio=120
        penstock-11      [000] d..2.  100.005000: barrier: (0x16ed030)
        penstock-11      [000] d..2.  100.005000: sched_switch: prev_comm=penstock prev_pid=11 prev_prio=120 prev_state=R+ ==> next_comm=sh next_pid=20 next_prio=120
          <idle>-0       [001] d..2.  100.005000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=penstock next_pid=12 next_prio=120
        penstock-12      [001] d..2.  100.005000: passed: (0x16da083 <- 0x16ed030)
        penstock-12      [001] d..2.  100.006000: barrier: (0x16ed030)
        penstock-12      [001] d..2.  100.009000: not_an_event: of ours
`

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

func lanesIn(t *testing.T, text string, from, to time.Duration) []lane {
	t.Helper()
	events := must.Get(parse(strings.NewReader(text)))(t)
	return lanesOf(events, from, to)
}

var whole = cmp.AllowUnexported(lane{}, span{})

func TestLanesOf_WhoWaitsForWhom(t *testing.T) {
	want := []lane{
		{11, 0, []span{{computing, 0, ms(1)}, {displaced, ms(1), ms(4)}, {computing, ms(4), ms(5)}, {displaced, ms(5), ms(8)}}},
		{12, 0, []span{{computing, 0, ms(2)}, {spinning, ms(2), ms(2.5)}, {napping, ms(2.5), ms(5)}, {computing, ms(5), ms(6)}, {spinning, ms(6), ms(8)}}},
	}
	if diff := cmp.Diff(want, lanesIn(t, together, 0, ms(8)), whole); diff != "" {
		t.Error(diff)
	}
	want = []lane{{12, ms(5.5), []span{{computing, ms(5.5), ms(6)}, {spinning, ms(6), ms(7)}}}}
	if diff := cmp.Diff(want, lanesIn(t, together, ms(5.5), ms(7)), whole); diff != "" {
		t.Errorf("a part, with one thread that arrives in it: %s", diff)
	}
}

// A thread that passes the barrier though no other has come is alone in its pass.
func TestLanesOf_OneThread(t *testing.T) {
	text := header + `
        penstock-11      [000] d..2.  100.000000: barrier: (0x16ed030)
        penstock-11      [000] d..2.  100.000020: passed: (0x16da083 <- 0x16ed030)
        penstock-11      [000] d..2.  100.001000: barrier: (0x16ed030)
        penstock-11      [000] d..2.  100.001020: passed: (0x16da083 <- 0x16ed030)
        penstock-11      [000] d..2.  100.002000: barrier: (0x16ed030)
`
	for _, l := range lanesIn(t, text, 0, ms(2)) {
		for _, s := range l.spans {
			if s.state != computing {
				t.Errorf("%+v", l)
			}
		}
	}
}

func TestPicture_ShowsEachState(t *testing.T) {
	p := panel{title: "<both>", lanes: lanesIn(t, together, 0, ms(8))}
	if got, want := inWords(p.lanes), "computes 31%, waits for the other on its processor 16%, waits in naps 16%, has no processor 38%"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	svg := picture("title", []panel{p}, ms(8))
	for _, part := range []string{"&lt;both&gt;", `class="computes"`, `class="spins"`, `class="naps"`, `class="displaced"`, "8 ms"} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in %s", part, svg)
		}
	}
}

// A pixel shows what took most of its time, whatever came first in it.
func TestLane_Columns(t *testing.T) {
	l := lane{begin: ms(1), spans: []span{{computing, ms(1), ms(1.4)}, {spinning, ms(1.4), ms(2.2)}, {napping, ms(2.2), ms(2.3)}, {displaced, ms(4.1), ms(5)}}}
	if diff := cmp.Diff([]state{spinning, unknown, unknown, displaced}, l.columns(4, ms(4))); diff != "" {
		t.Error(diff)
	}
}

func TestParse_Nothing(t *testing.T) {
	if lanes := lanesIn(t, "no trace\n", 0, ms(8)); lanes != nil {
		t.Errorf("%v", lanes)
	}
}

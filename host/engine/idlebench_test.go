// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// BenchmarkTick_Idle tells which share of the time no forward pass runs while all answers generate,
// and what takes it: drawing (sample-%), waiting for background samplers (background-%), the time
// between two ticks (between-%), or all else that a tick does (other-%). PENSTOCK_BENCH_MODEL names
// a model.
func BenchmarkTick_Idle(b *testing.B) {
	const most = 200
	for _, c := range []struct{ answers, logprobs int }{{1, -1}, {8, -1}, {32, -1}, {8, 5}} {
		b.Run(fmt.Sprintf("answers=%d/logprobs=%d", c.answers, c.logprobs), func(b *testing.B) {
			e := must.Get(Open(b.Context(), Options{Path: cmp.Or(os.Getenv("PENSTOCK_BENCH_MODEL"), builtIn), Slots: c.answers, ContextSize: c.answers * 512}))(b)
			defer e.Close() //nolint:errcheck // the benchmark ends
			s, stop := scheduled(b, e, c.answers)
			defer stop()
			var use ticksUse
			for b.Loop() {
				var all []scheduler.Request
				for range c.answers {
					r := greedy(b, e, "Once upon a time there was a little frog", most)
					r.Logprobs = c.logprobs
					all = append(all, r)
				}
				said(b, s, all...)
				snap := must.Get(s.Inspect(b.Context(), most))(b)
				use.add(snap.Ticks, c.answers)
			}
			use.report(b)
		})
	}
}

// ticksUse is what took the time of ticks in which all answers had a token, up to the next tick.
type ticksUse struct {
	ticks                                     int
	all, forward, sample, background, between time.Duration
}

func (u *ticksUse) add(ticks []scheduler.TickRecord, answers int) {
	for i := 1; i < len(ticks); i++ {
		t, next := &ticks[i-1], &ticks[i]
		if t.Decode != answers || next.Decode != answers || t.Prefill+next.Prefill > 0 {
			continue
		}
		step := next.Start.Sub(t.Start)
		u.ticks++
		u.all, u.forward, u.sample, u.background, u.between = u.all+step, u.forward+t.Forward, u.sample+t.Sample, u.background+t.Background, u.between+step-t.Total
	}
}

func (u *ticksUse) report(b *testing.B) {
	if u.ticks == 0 {
		b.Fatal("no two ticks had a token for each answer")
	}
	share := func(d time.Duration, name string) { b.ReportMetric(100*d.Seconds()/u.all.Seconds(), name) }
	share(u.all-u.forward, "idle-%")
	share(u.sample, "sample-%")
	share(u.background, "background-%")
	share(u.between, "between-%")
	share(u.all-u.forward-u.sample-u.background-u.between, "other-%")
	b.ReportMetric(float64(u.all.Microseconds())/float64(u.ticks), "us/tick")
}

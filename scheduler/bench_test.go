// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// BenchmarkTick is the scheduler's own cost of a tick in which every slot generates. The backend
// computes nothing, but keeps strict books: backend-ns/op is what its passes have of ns/op.
func BenchmarkTick(b *testing.B) {
	for _, slots := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			backend := schedulertest.New(scheduler.Limits{Cells: 1 << 22, Context: 1 << 20, Sequences: 256, Rows: 256})
			var passes passTime
			s := must.Get(scheduler.New(backend, scheduler.Config{Slots: slots}))(b)
			s.Listen(scheduler.Listener{Tick: passes.Tick})
			var streams []*scheduler.Stream
			fill := func() {
				streams = streams[:0]
				for i := range slots {
					r := request(16, i, 8000)
					r.Overflow, r.CachePrompt = scheduler.DropOldest, false
					streams = append(streams, submit(b, s, r))
				}
				s.Tick()
			}
			fill()
			b.ReportAllocs()
			b.ResetTimer()
			passes.total = 0
			for n := range b.N {
				if n%7000 == 6999 {
					b.StopTimer()
					timed := passes.total
					for _, st := range streams {
						st.Cancel()
					}
					s.Tick()
					fill()
					passes.total = timed
					b.StartTimer()
				}
				s.Tick()
			}
			b.ReportMetric(float64(passes.total.Nanoseconds())/float64(b.N), "backend-ns/op")
		})
	}
}

// passTime adds up what passes take.
type passTime struct{ total time.Duration }

func (p *passTime) Tick(r scheduler.TickRecord) { p.total += r.Forward }

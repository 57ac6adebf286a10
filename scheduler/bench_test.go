// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// BenchmarkTick is the scheduler's own cost of a tick in which every slot generates: the backend costs next to nothing.
func BenchmarkTick(b *testing.B) {
	for _, slots := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			backend := schedulertest.New(scheduler.Limits{Cells: 1 << 22, Context: 1 << 20, Sequences: 256, Rows: 256})
			s, err := scheduler.New(backend, scheduler.Config{Slots: slots})
			if err != nil {
				b.Fatal(err)
			}
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
			for n := range b.N {
				if n%7000 == 6999 {
					b.StopTimer()
					for _, st := range streams {
						st.Cancel()
					}
					s.Tick()
					fill()
					b.StartTimer()
				}
				s.Tick()
			}
		})
	}
}

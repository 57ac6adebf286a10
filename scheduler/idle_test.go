// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

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
		s, err := scheduler.New(h, scheduler.Config{Slots: n, ITLTarget: time.Second})
		if err != nil {
			t.Fatal(err)
		}
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

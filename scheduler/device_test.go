// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

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

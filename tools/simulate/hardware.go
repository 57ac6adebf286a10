// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// hardware is a machine with a model: what a forward pass costs there, and how Penstock is set up
// on it.
type hardware struct {
	name   string
	device device
	limits scheduler.Limits
	slots  int
	target time.Duration // scheduler.Config.ITLTarget

	users int   // active at once on each replica, in the table of fleets of different sizes
	sizes []int // of those
	goal  goal
}

// device knows the time of a pass over a batch.
type device interface {
	Cost(b *scheduler.Batch) time.Duration
}

// goal is what a fleet of enough machines keeps.
type goal struct{ ttft, itl time.Duration } // both at p99

// cpuWith8B is the cost of a pass on a server with 32 cores and 12 channels of DDR5-4800, for
// Llama 3's 8 billion parameters in 4 bits (4.9 GB): a memory of 460 GB/s used to 65%, and 3.2
// TFLOP/s. That is 0.1 TFLOP/s a core, half of what docs/performance.md measures of one thread
// with our kernels, and a third of what measured does.
var cpuWith8B = &schedulertest.Device{Launch: time.Millisecond, Weights: 16400 * time.Microsecond, Token: 5 * time.Millisecond,
	Read: 440 * time.Nanosecond, Attend: 160 * time.Nanosecond}

// measured is the cost of a pass on two cores of an AMD EPYC with AVX-512, for Llama 3.2's 1.2
// billion parameters in Q4_K_M with Penstock's kernels: the means of two runs of
// BenchmarkContext_Decode and BenchmarkContext_Chunk/own in native, on 2026-11-23 at a load of 3
// to 6 from other work. read and attend are a least-squares fit to chunks after 768 and 1,536
// cells; curve_test.go has each pass.
var measured = &curve{row: 800 * time.Microsecond, read: 3800 * time.Nanosecond, attend: 1140 * time.Nanosecond, passes: []pass{
	{1, 24_500 * time.Microsecond}, {4, 30_500 * time.Microsecond}, {8, 41_500 * time.Microsecond}, {16, 67_800 * time.Microsecond},
	{32, 126_400 * time.Microsecond}, {64, 245_300 * time.Microsecond}, {128, 477_300 * time.Microsecond}, {512, 1_874_000 * time.Microsecond}}}

// machines are the kinds of hardware that the tables have. Cells are what is left of the memory
// beside the weights: 1 GiB on two cores, 8 GiB on the server, 56 and 150 GB on the GPUs.
var machines = []*hardware{
	{name: "2 cores, 1B", device: measured, slots: 16, target: 150 * time.Millisecond, limits: limits(32_768, 8_192, 32),
		users: 10, sizes: []int{1, 10, 100, 1000}, goal: goal{30 * time.Second, 300 * time.Millisecond}},
	{name: "CPU, 8B", device: cpuWith8B, slots: 16, target: 150 * time.Millisecond, limits: limits(65_536, 8_192, 32),
		users: 20, sizes: []int{1, 10, 100, 1000}, goal: goal{30 * time.Second, 300 * time.Millisecond}},
	{name: "H100, 8B", device: &schedulertest.H100With8B, slots: 128, target: 50 * time.Millisecond, limits: limits(427_000, 16_384, 256),
		users: 1_500, sizes: []int{1, 10, 40}, goal: goal{time.Second, 75 * time.Millisecond}},
	{name: "4 × H100, 70B", device: &schedulertest.H100sWith70B, slots: 128, target: 50 * time.Millisecond, limits: limits(457_000, 16_384, 256),
		users: 1_000, sizes: []int{1, 10}, goal: goal{time.Second, 75 * time.Millisecond}},
}

func limits(cells, context, sequences int) scheduler.Limits {
	return scheduler.Limits{Vocabulary: vocabulary, Cells: cells, Context: context, Batch: 2048, Sequences: sequences, Rows: 256}
}

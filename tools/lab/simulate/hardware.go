// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
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
// cells; hardware_test.go has each pass.
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

// curve is what passes cost on a machine where they were measured.
type curve struct {
	passes []pass        // the shortest first
	row    time.Duration // for the logits of each token but one
	read   time.Duration // of a cell
	attend time.Duration // a token to a cell
}

// pass is what a pass costs by its number of tokens, with logits after one of them and without
// attention.
type pass struct {
	tokens int
	cost   time.Duration
}

// Cost is the time of a pass over a batch.
func (c *curve) Cost(b *scheduler.Batch) time.Duration {
	cost := c.interpolate(b.Len()) - c.row
	for i, at := range b.Positions {
		cost += time.Duration(at) * c.attend
		if i+1 == b.Len() || b.Sequences[i+1] != b.Sequences[i] { // the last of its sequence attends to all of it
			cost += time.Duration(at) * c.read
		}
		if b.Outputs[i] {
			cost += c.row
		}
	}
	return cost
}

// interpolate draws straight lines between what was measured, and the last one on.
func (c *curve) interpolate(tokens int) time.Duration {
	i := 1
	for i < len(c.passes)-1 && c.passes[i].tokens < tokens {
		i++
	}
	from, to := c.passes[i-1], c.passes[i]
	return from.cost + (to.cost-from.cost)*time.Duration(tokens-from.tokens)/time.Duration(to.tokens-from.tokens)
}

// machine is a scheduler.Backend that computes nothing. It knows how long its passes take, how
// many tokens each sequence has, and how they begin. What schedulertest.Backend checks besides
// (which cell is whose, whether the positions are in order) takes a hundred times its memory; a
// test runs a fleet on both and compares them call by call.
type machine struct {
	device device
	limits scheduler.Limits
	now    time.Duration // virtual time

	sequences []sequence
	held      *holdings // nil: no router asks
	batch     *scheduler.Batch
	drawn     []scheduler.Token // by output row
}

// sequence is what the KV cache has under one number.
type sequence struct {
	tokens  int
	digests []uint64 // of its blocks
}

func newMachine(h *hardware) *machine {
	return &machine{device: h.device, limits: h.limits, sequences: make([]sequence, h.limits.Sequences)}
}

// clock is scheduler.Config.Clock.
func (m *machine) clock() time.Time { return time.Unix(0, int64(m.now)) }

// Limits implements scheduler.Backend.
func (m *machine) Limits() scheduler.Limits { return m.limits }

// Start implements scheduler.Backend.
func (m *machine) Start(b *scheduler.Batch) error {
	m.batch = b
	return nil
}

// Wait implements scheduler.Backend.
func (m *machine) Wait() error {
	m.now += m.device.Cost(m.batch)
	m.drawn = m.drawn[:0]
	for i, t := range m.batch.Tokens {
		s := &m.sequences[m.batch.Sequences[i]]
		if s.tokens++; m.held != nil && s.tokens%block == 0 {
			before := uint64(0)
			if n := len(s.digests); n > 0 {
				before = s.digests[n-1]
			}
			d := digest(before, t)
			s.digests = append(s.digests, d)
			m.held.add(d)
		}
		if m.batch.Outputs[i] {
			m.drawn = append(m.drawn, next(t))
		}
	}
	return nil
}

// SampleRows implements scheduler.Backend.
func (m *machine) SampleRows(draws []scheduler.Draw) {
	for i := range draws {
		draws[i].Token = m.drawn[draws[i].Row]
	}
}

// Truncate implements kvcache.Memory.
func (m *machine) Truncate(seq int32, n int) int {
	s := &m.sequences[seq]
	s.tokens = min(s.tokens, n)
	if keep := s.tokens / block; keep < len(s.digests) {
		for _, d := range s.digests[keep:] {
			m.held.remove(d)
		}
		s.digests = s.digests[:keep]
	}
	return n
}

// Shares implements kvcache.Memory.
func (m *machine) Shares() bool { return true }

// Share implements kvcache.Memory: as with one cache for all sequences, nothing is copied.
func (m *machine) Share(src, dst int32, n int) int {
	from, to := &m.sequences[src], &m.sequences[dst]
	to.tokens = n
	for _, d := range from.digests[:min(n/block, len(from.digests))] {
		to.digests = append(to.digests, d)
		m.held.add(d)
	}
	return n
}

// ContinueCopy implements kvcache.Memory: there are no copies.
func (m *machine) ContinueCopy(time.Duration, bool) bool { return true }

// HiddenState implements scheduler.Backend: there are none.
func (m *machine) HiddenState(int32, int) []float32 { return nil }

// Row implements scheduler.Backend. Only chains of plugins ask for rows.
func (m *machine) Row(int) []float32 { return nil }

// MaskRow implements chain.Masker. Likewise.
func (m *machine) MaskRow(to, row []float32, allowed []uint32) { chain.MaskRow(to, row, allowed) }

// Piece implements answer.Vocabulary. Nobody reads the answers.
func (m *machine) Piece(scheduler.Token) string { return "" }

// ControlText implements answer.Vocabulary.
func (m *machine) ControlText(scheduler.Token) string { return "" }

// EndOfGeneration implements answer.Vocabulary: answers have the length that is asked for.
func (m *machine) EndOfGeneration(scheduler.Token) bool { return false }

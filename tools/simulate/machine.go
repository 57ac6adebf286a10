// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

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

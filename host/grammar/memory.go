// SPDX-License-Identifier: MIT

package grammar

import "sync/atomic"

// Memory bounds what grammars take together. Half of the memory is for rules and expressions, which
// stay. The states have what those leave: where there is too much of them, grammars that are
// followed forget theirs, down to an equal part.
type Memory struct {
	most                    int64
	fixed, states, grammars atomic.Int64
}

// NewMemory returns one of so many bytes.
func NewMemory(most int) *Memory { return &Memory{most: int64(most)} }

// Add counts a grammar, which counts in no memory yet, until Remove. It reports false, and does not
// count it, where there is no room for its rules and expressions.
func (m *Memory) Add(g *Grammar) bool {
	fixed := int64(g.Fixed())
	if m.fixed.Add(fixed) > m.most/2 {
		m.fixed.Add(-fixed)
		return false
	}
	m.grammars.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counted = &counted{in: m, fixed: fixed}
	g.tell()
	return true
}

// Remove counts a grammar no more that Add has counted. Nobody may follow it any more.
func (m *Memory) Remove(g *Grammar) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.fixed.Add(-g.counted.fixed)
	m.states.Add(-g.counted.states)
	m.grammars.Add(-1)
	g.counted = nil
}

// Used is about how many bytes the grammars take.
func (m *Memory) Used() int { return int(m.fixed.Load() + m.states.Load()) }

// counted is what a grammar counts for.
type counted struct {
	in            *Memory
	fixed, states int64
}

const (
	tellStep  = 64 << 10  // bytes that states have grown or shrunk by, before it is told
	leastKept = 256 << 10 // bytes of states that every grammar may keep
)

// tell counts what the states take now.
func (g *Grammar) tell() {
	if c := g.counted; c != nil {
		now := int64(g.table.bytes + g.automata.Size())
		if before := c.states; now >= before+tellStep || now <= before-tellStep {
			c.states = now
			c.in.states.Add(now - before)
		}
	}
}

// crowded reports whether all grammars together keep too much, and this one more than its part.
func (g *Grammar) crowded() bool {
	if g.counted == nil {
		return false
	}
	g.tell()
	m := g.counted.in
	room := m.most - m.fixed.Load()
	return m.states.Load() > room && g.counted.states > max(room/max(m.grammars.Load(), 1), leastKept)
}

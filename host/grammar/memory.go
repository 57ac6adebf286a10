// SPDX-License-Identifier: MIT

package grammar

import (
	"runtime"
	"sync/atomic"
)

// Memory bounds what grammars take together. A grammar counts until nobody has it any more and the
// collector has freed it: one that is kept nowhere still takes what it takes while an answer
// follows it. Half of the memory is for rules and expressions, which stay. The states have what
// those leave: where there is too much of them, grammars that are followed forget theirs, down to
// an equal part.
type Memory struct {
	most                    int64
	fixed, states, grammars atomic.Int64
}

// NewMemory returns one of so many bytes.
func NewMemory(most int) *Memory { return &Memory{most: int64(most)} }

// Add counts a grammar from now on. It reports false, and does not count it, where there is no room
// for its rules and expressions.
func (m *Memory) Add(g *Grammar) bool {
	c := &counted{in: m, fixed: int64(g.Fixed())}
	if m.fixed.Add(c.fixed) > m.most/2 {
		m.fixed.Add(-c.fixed)
		return false
	}
	m.grammars.Add(1)
	g.mu.Lock()
	g.counted = c
	g.tell()
	g.mu.Unlock()
	runtime.AddCleanup(g, (*counted).end, c)
	return true
}

// Used is about how many bytes the grammars take.
func (m *Memory) Used() int { return int(m.fixed.Load() + m.states.Load()) }

// counted is what a grammar counts for.
type counted struct {
	in     *Memory
	fixed  int64
	states atomic.Int64
}

func (c *counted) end() {
	c.in.fixed.Add(-c.fixed)
	c.in.states.Add(-c.states.Load())
	c.in.grammars.Add(-1)
}

const (
	tellStep  = 64 << 10  // bytes that states have grown or shrunk by, before it is told
	leastKept = 256 << 10 // bytes of states that every grammar may keep
)

// tell counts what the states take now.
func (g *Grammar) tell() {
	if c := g.counted; c != nil {
		now := int64(g.table.bytes + g.automata.Size())
		if before := c.states.Load(); now >= before+tellStep || now <= before-tellStep {
			c.states.Store(now)
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
	return m.states.Load() > room && g.counted.states.Load() > max(room/max(m.grammars.Load(), 1), leastKept)
}

// SPDX-License-Identifier: MIT

package kvcache

import "slices"

// segment is cells next to each other that the same sequences hold. The books count cells: which of
// the memory's they are, nobody asks. So a token adds one to a number, whatever the length of the
// sequence, and where sequences part a segment is split.
type segment struct {
	cells   int
	holders int    // sequences that have it
	seen    uint64 // Cache.counts when Evictable has counted it
}

// hold gives a sequence n cells more, which were free.
func (c *Cache) hold(s *Sequence, n int) {
	if n == 0 {
		return
	}
	c.free -= n
	if k := len(s.segments); k == 0 || s.segments[k-1].holders > 1 {
		s.segments = append(s.segments, &segment{holders: 1})
	}
	s.segments[len(s.segments)-1].cells += n
}

// letGo takes the last n cells from a sequence. Those that no other holds are free.
func (c *Cache) letGo(s *Sequence, n int) {
	for n > 0 {
		k := len(s.segments) - 1
		last := s.segments[k]
		switch {
		case last.cells > n && last.holders > 1:
			c.split(last, last.cells-n)
			continue
		case last.cells > n:
			last.cells -= n
			c.free += n
			return
		}
		n -= last.cells
		if last.holders--; last.holders == 0 {
			c.free += last.cells
		}
		s.segments[k] = nil
		s.segments = s.segments[:k]
	}
}

// lend has a sequence hold those cells of another that are between two places, too.
func (c *Cache) lend(src, dst *Sequence, from, to int) {
	for i, at := 0, 0; at < to; i++ {
		g := src.segments[i]
		if at < from && from < at+g.cells {
			c.split(g, from-at)
		}
		if to < at+g.cells {
			c.split(g, to-at)
		}
		if at >= from {
			g.holders++
			dst.segments = append(dst.segments, g)
		}
		at += g.cells
	}
}

// split leaves a segment its first n cells. All that hold it have the others after it.
func (c *Cache) split(g *segment, n int) {
	rest := &segment{cells: g.cells - n, holders: g.holders}
	g.cells = n
	for _, s := range c.sequences {
		if i := slices.Index(s.segments, g); i >= 0 {
			s.segments = slices.Insert(s.segments, i+1, rest)
		}
	}
}

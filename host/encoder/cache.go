// SPDX-License-Identifier: MIT

package encoder

import "container/list"

// cache keeps embeddings up to a bound in bytes. What was used longest ago goes first.
type cache struct {
	most, bytes int64
	entries     map[key]*list.Element
	order       list.List // of entries, the one that was used last in front
}

type entry struct {
	key    key
	pieces []Piece
	bytes  int64
}

func (c *cache) find(k key) ([]Piece, bool) {
	at := c.entries[k]
	if at == nil {
		return nil, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*entry).pieces, true
}

func (c *cache) keep(k key, pieces []Piece) {
	e := &entry{k, pieces, sizeOf(pieces)}
	if e.bytes > c.most || c.entries[k] != nil {
		return
	}
	if c.entries == nil {
		c.entries = map[key]*list.Element{}
	}
	c.entries[k] = c.order.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > c.most {
		last := c.order.Back()
		old := c.order.Remove(last).(*entry)
		delete(c.entries, old.key)
		c.bytes -= old.bytes
	}
}

// overhead is about what an entry takes besides its numbers.
const overhead = 512

func sizeOf(pieces []Piece) int64 {
	n := int64(overhead)
	for _, p := range pieces {
		n += int64(4*(len(p.Values)+len(p.Tokens))) + overhead
	}
	return n
}

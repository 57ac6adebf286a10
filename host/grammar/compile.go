// SPDX-License-Identifier: MIT

package grammar

import (
	"container/heap"
	"fmt"
)

const (
	maxPlaces = 1 << 19
	maxEdges  = 1 << 20
)

// program is the rules as they are followed: places and the edges between them.
type program struct {
	procedures []procedure
	edges      []edge
	first      []int32 // by place and one more: its first edge
	rests      []rest  // by place
	ends       []bool  // by place: it ends its procedure
	loops      []*loop
	memories   []*memory // of edges; the first is nil
	root       int32     // procedure; below 0: only the empty text fits
	empty      bool      // the empty text fits
}

// compiler makes a program of a Builder's bodies.
type compiler struct {
	program
	b      *Builder
	length []int // by body
	ofLoop []int // the lengths of loops
	out    [][]edge
	n      int  // edges
	within rest // of places that are made
	err    error
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *compiler) place() place {
	if len(c.out) >= maxPlaces {
		c.fail("the grammar has more than %d places, with those that its repeated parts and its left recursion make", maxPlaces)
		return 0
	}
	c.out = append(c.out, nil)
	c.rests = append(c.rests, c.within)
	return place(len(c.out) - 1)
}

func (c *compiler) edge(from place, kind edgeKind, arg int32, to place) {
	if c.err != nil {
		return
	}
	if c.n++; c.n > maxEdges {
		c.fail("the grammar has more than %d edges, with those that its repeated parts and its left recursion make", maxEdges)
		return
	}
	c.out[from] = append(c.out[from], edge{kind, arg, to})
}

// compile makes the program of the rule root. length has the shortest text of every body.
func compile(b *Builder, root Rule, loops []*loop, length []int) (*program, error) {
	c := &compiler{b: b, length: length}
	c.loops = loops
	c.memories = []*memory{nil}
	c.ofLoop = make([]int, len(loops))
	c.procedures = make([]procedure, len(b.rules)+len(loops))
	for r, is := range b.rules {
		if err := b.Lexemes.Ask(buildSteps); err != nil {
			return nil, err
		}
		c.within = rest{bytes: never, after: outsideLoop, done: -1}
		p := procedure{start: c.place(), final: c.place(), loop: -1, empty: length[is] == 0}
		c.procedures[r] = p
		c.body(is, p.start, p.final, p.final)
	}
	for i := range b.bodies {
		if b.bodies[i].kind == isLoop {
			c.loop(Body(i))
		}
	}
	if c.err == nil {
		c.findRests()
		c.separateEmpty()
	}
	if c.err != nil {
		return nil, c.err
	}
	c.root, c.empty = int32(root), c.procedures[root].empty
	c.flatten()
	return &c.program, nil
}

// body makes edges for a body between two places. last is where its procedure ends.
func (c *compiler) body(i Body, from, to, last place) {
	n := &c.b.bodies[i]
	if c.length[i] >= never || c.err != nil {
		return
	}
	switch n.kind {
	case isCall:
		c.call(n.arg, c.length[i] == 0, from, to, last)
	case isLoop:
		c.call(int32(len(c.b.rules))+n.arg, c.length[i] == 0, from, to, last)
	case isLexeme:
		c.edge(from, toLexeme, n.arg, to)
		if c.length[i] == 0 {
			c.edge(from, toEmpty, 0, to)
		}
	case isToken:
		c.edge(from, toToken, n.arg, to)
	case isOther:
		c.edge(from, toOther, n.arg, to)
	case isSeq:
		if len(n.parts) == 0 {
			c.edge(from, toEmpty, 0, to)
		}
		for k, p := range n.parts {
			next := to
			if k < len(n.parts)-1 {
				next = c.place()
			}
			c.body(p, from, next, last)
			from = next
		}
	case isAlt:
		for _, p := range n.parts {
			c.body(p, from, to, last)
		}
	case isStar, isPlus:
		before, after := c.place(), c.place()
		c.edge(from, toEmpty, 0, before)
		c.body(n.parts[0], before, after, last)
		c.edge(after, toEmpty, 0, before)
		c.edge(after, toEmpty, 0, to)
		if n.kind == isStar {
			c.edge(from, toEmpty, 0, to)
		}
	}
}

func (c *compiler) call(procedure int32, empty bool, from, to, last place) {
	if to == last {
		c.edge(from, toJump, procedure, to)
	} else {
		c.edge(from, toCall, procedure, to)
	}
	if empty {
		c.edge(from, toEmpty, 0, to)
	}
}

// loop makes the procedure of a loop.
func (c *compiler) loop(i Body) {
	n := &c.b.bodies[i]
	lp := c.loops[n.arg]
	c.ofLoop[n.arg] = c.length[i]
	c.within = rest{after: outsideLoop, done: -1}
	p := procedure{final: c.place(), loop: n.arg, empty: c.length[i] == 0}
	c.within = rest{after: atStart, done: -1}
	p.start = c.place()
	c.within = rest{after: afterItem, done: -1}
	join := c.place()
	c.within = rest{after: beforeItem, done: -1}
	items := c.place()
	c.edge(p.start, toEnd, 0, p.final)
	c.edge(p.start, toEmpty, 0, items)
	c.edge(join, toEnd, 0, p.final)
	c.within = rest{bytes: never, after: beforeItem, done: -1}
	separator := c.place()
	c.edge(join, toMore, 0, separator)
	c.body(n.parts[0], separator, items, -1)
	for k, item := range n.parts[1 : 1+len(lp.items)] {
		if lp.items[k].length >= never {
			continue
		}
		c.within = rest{bytes: never, after: afterItem, done: int32(k)}
		from := c.place()
		c.within.bytes = 0
		to := c.place()
		c.within.bytes = never
		c.edge(items, toItem, int32(k), from)
		if of := lp.items[k].unique; of >= 0 {
			before := n.parts[1+len(lp.items)+k]
			if c.length[before] == 0 && c.b.Lexemes.Nullable(c.b.uniques[of].Text) {
				c.fail("an item of a loop begins with a unique text that may be empty, and nothing before it")
			}
			begin, end := c.place(), c.place()
			c.body(before, from, begin, -1)
			c.edge(begin, toUnique, of, end)
			from = end
		}
		c.body(item, from, to, -1)
		c.edge(to, toDone, int32(k), join)
	}
	c.procedures[len(c.b.rules)+int(n.arg)] = p
}

// findRests finds how long the shortest text is from each place to the end of its rule or to where
// a loop's memory says the rest.
func (c *compiler) findRests() {
	var queue lengthQueue
	type source struct {
		from   place
		length int32
	}
	into := make([][]source, len(c.out))
	for r := range c.b.rules {
		c.rests[c.procedures[r].final].bytes = 0
	}
	for p, edges := range c.out {
		if c.rests[p].bytes == 0 {
			heap.Push(&queue, lengthEntry{0, Body(p)})
		}
		for _, e := range edges {
			if e.kind <= toJump {
				into[e.to] = append(into[e.to], source{place(p), int32(c.edgeLength(e))})
			}
		}
	}
	for len(queue) > 0 {
		e := heap.Pop(&queue).(lengthEntry)
		if e.length != int(c.rests[e.of].bytes) {
			continue
		}
		for _, s := range into[e.of] {
			if n := plus(e.length, int(s.length)); n < int(c.rests[s.from].bytes) {
				c.rests[s.from].bytes = int32(n)
				heap.Push(&queue, lengthEntry{n, Body(s.from)})
			}
		}
	}
}

func (c *compiler) edgeLength(e edge) int {
	switch {
	case e.kind == toLexeme:
		w := c.b.lexemes[e.arg]
		return c.length[c.b.known[w]]
	case e.kind == toToken || e.kind == toOther:
		return 1
	case e.kind == toEmpty:
		return 0
	case e.kind == toUnique:
		return c.b.uniques[e.arg].plenty
	case int(e.arg) < len(c.b.rules):
		return c.length[c.b.rules[e.arg]]
	}
	return c.ofLoop[int(e.arg)-len(c.b.rules)]
}

func (c *compiler) flatten() {
	c.first = make([]int32, 1, len(c.out)+1)
	for _, edges := range c.out {
		c.edges = append(c.edges, edges...)
		c.first = append(c.first, int32(len(c.edges)))
	}
	c.ends = make([]bool, len(c.out))
	for _, p := range c.procedures {
		c.ends[p.final] = true
	}
}

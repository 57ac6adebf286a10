// SPDX-License-Identifier: MIT

package grammar

import (
	"container/heap"
	"errors"
	"fmt"
)

// place is a state of a rule's automaton: a point between two parts of its body.
type place int32

type edgeKind uint8

const (
	toEmpty    edgeKind = iota
	toLexeme            // reads at least one byte of lexeme arg
	toToken             // reads token arg
	toOther             // reads any token but arg
	toUnique            // reads unique text arg, which may be empty only if something is read before it
	toCall              // reads at least one byte of procedure arg
	toJump              // a tail call: as toCall, but nothing follows it, so the stack does not grow
	toItem              // open where item arg may come
	toDone              // records that item arg has come
	toMore              // open where any item may come
	toEnd               // open where the loop may end
	toProgress          // sets the loop's progress to number arg of program.progresses
)

// edge leads from one place to another.
type edge struct {
	kind edgeKind
	arg  int32
	to   place
}

// reads reports whether an edge reads at least one byte or token.
func (k edgeKind) reads() bool { return k >= toLexeme && k <= toJump }

// procedure is the automaton of a rule or of a loop. It reads at least one byte; where it may be
// empty, its callers have an edge around it. So nothing ends where it began, and no rule comes back
// to where it was without reading.
type procedure struct {
	start, final place
	loop         int32 // the loop that it is; -1: a rule
	empty        bool  // the empty text fits the rule
}

// distance is the length of the shortest text from a place to the end of its procedure: a number of
// bytes, plus what the loop's progress adds.
type distance struct {
	bytes int32
	after loopPoint
	done  int32 // the item that ends before that; -1: none
}

// never is the length of the shortest text where there is none. Sums are cut off at it.
const never = 1 << 30 // a gibibyte, which no answer has either

func plus(a, b int) int { return min(a+b, never) }

var errWork = errors.New("the grammar takes too much work to read")

// lengths finds the length of the shortest text of every body, in bytes, where a token that is
// named counts as one: never where no text fits, 0 where the empty text fits. This is Knuth's
// generalization of Dijkstra's algorithm to grammars (1977): lengths become final in ascending
// order, so a rule that calls itself needs no second look.
type lengths struct {
	b       *Builder
	loops   []*loop
	of      []int    // by body; final where done
	done    []bool   // by body
	open    []int32  // by body: how many parts of a sequence are not final
	users   [][]Body // by body: the bodies that it is a part of
	callers [][]Body // by body of a rule: the calls of that rule
	queue   lengthQueue
	queued  []bool // by loop: it is in the queue
	work    int
}

const maxLengthWork = 1 << 24

type lengthEntry struct {
	length int
	of     Body // below 0: ^of is a loop, to be computed from the items that are final
}

type lengthQueue []lengthEntry

func (q lengthQueue) Len() int { return len(q) }

// Less puts a loop behind all bodies of the same length, so that its items are final.
func (q lengthQueue) Less(i, j int) bool {
	return q[i].length < q[j].length || q[i].length == q[j].length && q[i].of > q[j].of
}
func (q lengthQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *lengthQueue) Push(x any)   { *q = append(*q, x.(lengthEntry)) }
func (q *lengthQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// shortestLengths returns the length of the shortest text of each body. words has that of each
// lexeme.
func shortestLengths(b *Builder, loops []*loop, words []int) ([]int, error) {
	n := len(b.bodies)
	l := &lengths{b: b, loops: loops, of: make([]int, n), done: make([]bool, n), open: make([]int32, n),
		users: make([][]Body, n), callers: make([][]Body, n), queued: make([]bool, len(loops))}
	for i := range b.bodies {
		l.of[i] = never
		l.prepare(Body(i), words)
	}
	for len(l.queue) > 0 {
		e := heap.Pop(&l.queue).(lengthEntry)
		if e.of < 0 {
			if err := l.computeLoop(^e.of); err != nil {
				return nil, err
			}
		} else if !l.done[e.of] && e.length == l.of[e.of] {
			l.done[e.of] = true
			l.propagate(e.of)
		}
	}
	return l.of, nil
}

func (l *lengths) offer(of Body, length int) {
	if !l.done[of] && length < l.of[of] {
		l.of[of] = length
		heap.Push(&l.queue, lengthEntry{length, of})
	}
}

func (l *lengths) prepare(i Body, words []int) {
	n := &l.b.bodies[i]
	for _, p := range n.parts {
		l.users[p] = append(l.users[p], i)
	}
	l.open[i] = int32(len(n.parts))
	switch n.kind {
	case isCall:
		is := l.b.rules[n.arg]
		l.callers[is] = append(l.callers[is], i)
	case isLexeme:
		l.offer(i, words[n.arg])
	case isToken, isOther:
		l.offer(i, 1)
	case isSeq:
		if len(n.parts) == 0 {
			l.offer(i, 0)
		}
	case isStar:
		l.offer(i, 0)
	case isLoop:
		heap.Push(&l.queue, lengthEntry{0, ^i})
		l.queued[n.arg] = true
	}
}

// propagate uses the final length of a body for the bodies that it is a part of.
func (l *lengths) propagate(i Body) {
	for _, call := range l.callers[i] {
		l.offer(call, l.of[i])
	}
	for _, user := range l.users[i] {
		switch n := &l.b.bodies[user]; n.kind {
		case isAlt, isPlus:
			l.offer(user, l.of[i])
		case isSeq:
			if l.open[user]--; l.open[user] == 0 {
				sum := 0
				for _, p := range n.parts {
					sum = plus(sum, l.of[p])
				}
				l.offer(user, sum)
			}
		case isLoop:
			if !l.queued[n.arg] {
				l.queued[n.arg] = true
				heap.Push(&l.queue, lengthEntry{l.of[i], ^user})
			}
		}
	}
}

// computeLoop computes a loop from the items that are final so far. Items that become final later
// are longer than what it finds now.
func (l *lengths) computeLoop(i Body) error {
	n := &l.b.bodies[i]
	l.queued[n.arg] = false
	lp := l.loops[n.arg]
	if l.work += lp.cost(); l.work > maxLengthWork {
		return errWork
	}
	final := func(p Body) int {
		if l.done[p] {
			return l.of[p]
		}
		return never
	}
	lp.separator = final(n.parts[0])
	for k := range lp.items {
		length := plus(final(n.parts[1+k]), final(n.parts[1+len(lp.items)+k]))
		if of := lp.items[k].unique; of >= 0 {
			length = plus(length, l.b.uniques[of].plenty)
		}
		lp.items[k].length = length
	}
	lp.prepareLengths()
	l.offer(i, lp.newProgress().shortestRest(atStart))
	return nil
}

const (
	maxPlaces = 1 << 19
	maxEdges  = 1 << 20
)

// program is a recursive transition network (Woods 1970): an automaton for each rule and loop,
// which call one another. States follow it.
type program struct {
	procedures []procedure
	edges      []edge
	first      []int32    // by place and one more: its first edge
	distances  []distance // by place
	ends       []bool     // by place: a procedure ends there
	loops      []*loop
	progresses []*progress // of edges; the first is nil
	root       int32       // the procedure of a whole text
	empty      bool        // the empty text is a whole text
}

// compiler makes a program of a Builder's bodies.
type compiler struct {
	program
	b         *Builder
	length    []int // of the shortest text, by body
	ofLoop    []int // the same by loop
	out       [][]edge
	edgeCount int      // edges
	within    distance // of the places that are being made
	err       error
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *compiler) newPlace() place {
	if len(c.out) >= maxPlaces {
		c.fail("the grammar has more than %d places, with those that its repeated parts and its left recursion make", maxPlaces)
		return 0
	}
	c.out = append(c.out, nil)
	c.distances = append(c.distances, c.within)
	return place(len(c.out) - 1)
}

func (c *compiler) addEdge(from place, kind edgeKind, arg int32, to place) {
	if c.err != nil {
		return
	}
	if c.edgeCount++; c.edgeCount > maxEdges {
		c.fail("the grammar has more than %d edges, with those that its repeated parts and its left recursion make", maxEdges)
		return
	}
	c.out[from] = append(c.out[from], edge{kind, arg, to})
}

// compile makes the program whose whole texts fit rule root. length has the shortest text of every
// body.
func compile(b *Builder, root Rule, loops []*loop, length []int) (*program, error) {
	c := &compiler{b: b, length: length}
	c.loops = loops
	c.progresses = []*progress{nil}
	c.ofLoop = make([]int, len(loops))
	c.procedures = make([]procedure, len(b.rules)+len(loops))
	for r, is := range b.rules {
		if err := b.Lexemes.Ask(buildSteps); err != nil {
			return nil, err
		}
		c.within = distance{bytes: never, after: outsideLoop, done: -1}
		p := procedure{start: c.newPlace(), final: c.newPlace(), loop: -1, empty: length[is] == 0}
		c.procedures[r] = p
		c.compileBody(is, p.start, p.final, p.final)
	}
	for i := range b.bodies {
		if b.bodies[i].kind == isLoop {
			c.compileLoop(Body(i))
		}
	}
	if c.err == nil {
		c.findDistances()
		c.removeEmptyStarts()
	}
	if c.err != nil {
		return nil, c.err
	}
	c.root, c.empty = int32(root), c.procedures[root].empty
	c.flatten()
	return &c.program, nil
}

// compileBody makes edges for a body from one place to another. last is where its procedure ends.
// This is Thompson's construction (1968).
func (c *compiler) compileBody(i Body, from, to, last place) {
	n := &c.b.bodies[i]
	if c.length[i] >= never || c.err != nil {
		return
	}
	switch n.kind {
	case isCall:
		c.addCall(n.arg, c.length[i] == 0, from, to, last)
	case isLoop:
		c.addCall(int32(len(c.b.rules))+n.arg, c.length[i] == 0, from, to, last)
	case isLexeme:
		c.addEdge(from, toLexeme, n.arg, to)
		if c.length[i] == 0 {
			c.addEdge(from, toEmpty, 0, to)
		}
	case isToken:
		c.addEdge(from, toToken, n.arg, to)
	case isOther:
		c.addEdge(from, toOther, n.arg, to)
	case isSeq:
		if len(n.parts) == 0 {
			c.addEdge(from, toEmpty, 0, to)
		}
		for k, p := range n.parts {
			next := to
			if k < len(n.parts)-1 {
				next = c.newPlace()
			}
			c.compileBody(p, from, next, last)
			from = next
		}
	case isAlt:
		for _, p := range n.parts {
			c.compileBody(p, from, to, last)
		}
	case isStar, isPlus:
		before, after := c.newPlace(), c.newPlace()
		c.addEdge(from, toEmpty, 0, before)
		c.compileBody(n.parts[0], before, after, last)
		c.addEdge(after, toEmpty, 0, before)
		c.addEdge(after, toEmpty, 0, to)
		if n.kind == isStar {
			c.addEdge(from, toEmpty, 0, to)
		}
	}
}

func (c *compiler) addCall(procedure int32, empty bool, from, to, last place) {
	if to == last {
		c.addEdge(from, toJump, procedure, to)
	} else {
		c.addEdge(from, toCall, procedure, to)
	}
	if empty {
		c.addEdge(from, toEmpty, 0, to)
	}
}

// compileLoop makes the procedure of a loop: from items, one of them leads to join, from which the
// loop ends or a separator leads back to items.
func (c *compiler) compileLoop(i Body) {
	n := &c.b.bodies[i]
	lp := c.loops[n.arg]
	c.ofLoop[n.arg] = c.length[i]
	c.within = distance{after: outsideLoop, done: -1}
	p := procedure{final: c.newPlace(), loop: n.arg, empty: c.length[i] == 0}
	c.within = distance{after: atStart, done: -1}
	p.start = c.newPlace()
	c.within = distance{after: afterItem, done: -1}
	join := c.newPlace()
	c.within = distance{after: beforeItem, done: -1}
	items := c.newPlace()
	c.addEdge(p.start, toEnd, 0, p.final)
	c.addEdge(p.start, toEmpty, 0, items)
	c.addEdge(join, toEnd, 0, p.final)
	c.within = distance{bytes: never, after: beforeItem, done: -1}
	separator := c.newPlace()
	c.addEdge(join, toMore, 0, separator)
	c.compileBody(n.parts[0], separator, items, -1)
	for k, item := range n.parts[1 : 1+len(lp.items)] {
		if lp.items[k].length >= never {
			continue
		}
		c.within = distance{bytes: never, after: afterItem, done: int32(k)}
		from := c.newPlace()
		c.within.bytes = 0
		to := c.newPlace()
		c.within.bytes = never
		c.addEdge(items, toItem, int32(k), from)
		if of := lp.items[k].unique; of >= 0 {
			before := n.parts[1+len(lp.items)+k]
			if c.length[before] == 0 && c.b.Lexemes.Nullable(c.b.uniques[of].Text) {
				c.fail("an item of a loop begins with a unique text that may be empty, and nothing before it")
			}
			begin, end := c.newPlace(), c.newPlace()
			c.compileBody(before, from, begin, -1)
			c.addEdge(begin, toUnique, of, end)
			from = end
		}
		c.compileBody(item, from, to, -1)
		c.addEdge(to, toDone, int32(k), join)
	}
	c.procedures[len(c.b.rules)+int(n.arg)] = p
}

// findDistances finds the shortest text from each place to the end of its rule, or to where the
// loop's progress says the rest. It is Dijkstra's algorithm, from the ends backwards.
func (c *compiler) findDistances() {
	var queue lengthQueue
	type source struct {
		from   place
		length int32
	}
	into := make([][]source, len(c.out))
	for r := range c.b.rules {
		c.distances[c.procedures[r].final].bytes = 0
	}
	for p, edges := range c.out {
		if c.distances[p].bytes == 0 {
			heap.Push(&queue, lengthEntry{0, Body(p)})
		}
		for _, e := range edges {
			if e.kind <= toJump {
				into[e.to] = append(into[e.to], source{place(p), int32(c.lengthOfEdge(e))})
			}
		}
	}
	for len(queue) > 0 {
		e := heap.Pop(&queue).(lengthEntry)
		if e.length != int(c.distances[e.of].bytes) {
			continue
		}
		for _, s := range into[e.of] {
			if n := plus(e.length, int(s.length)); n < int(c.distances[s.from].bytes) {
				c.distances[s.from].bytes = int32(n)
				heap.Push(&queue, lengthEntry{n, Body(s.from)})
			}
		}
	}
}

func (c *compiler) lengthOfEdge(e edge) int {
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

// flatten copies the edges of all places into one list.
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

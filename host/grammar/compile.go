// SPDX-License-Identifier: MIT

package grammar

import (
	"container/heap"
	"errors"
	"fmt"
)

// place is a point between the parts of a rule.
type place int32

type edgeKind uint8

const (
	toEmpty  edgeKind = iota
	toLexeme          // reads lexeme arg, of which at least one byte
	toToken           // reads token arg
	toOther           // reads any token but arg
	toUnique          // reads unique text arg, which may be empty where something is read before it
	toCall            // reads rule arg, of which at least one byte
	toJump            // as toCall, where nothing is left to come after it: the stack does not grow
	toItem            // where item arg may come
	toDone            // item arg has come
	toMore            // where any item may come
	toEnd             // where the loop may end
	toMemory          // with memory arg of the compiled ones
)

// edge leads from one place to another.
type edge struct {
	kind edgeKind
	arg  int32
	to   place
}

// reads reports whether an edge reads something.
func (k edgeKind) reads() bool { return k >= toLexeme && k <= toJump }

// procedure is a rule, or a loop, which has a memory. It reads at least one byte: those who call it
// go on without it where it may be empty. So nothing ends where it began, and no rule comes back to
// where it was.
type procedure struct {
	start, final place
	loop         int32 // -1: none
	empty        bool  // the texts have the empty one
}

// rest says how long the shortest text from a place to the end of its procedure is: so many bytes,
// and then what the loop's memory says.
type rest struct {
	bytes int32
	after where
	done  int32 // the item that comes to its end first; -1: none
}

// never is the length of the shortest text where there is none. Sums stop at it.
const never = 1 << 30 // a gibibyte, which no answer has either

func plus(a, b int) int { return min(a+b, never) }

var errWork = errors.New("the grammar takes too much work to read")

// lengths finds the shortest text of every body, in bytes, a token counted as one: never where a
// body fits nothing, 0 where it fits the empty text. Lengths become final in their order, as in
// Dijkstra's search, so a rule that calls itself needs no second look.
type lengths struct {
	b       *Builder
	loops   []*loop
	of      []int   // by body; final where done
	done    []bool  // by body
	open    []int32 // by body: parts of a sequence that are not final
	users   [][]Body
	callers [][]Body // by rule body: the calls of that rule
	queue   lengthQueue
	queued  []bool // by loop: it is to be looked at
	work    int
}

const maxLengthWork = 1 << 24

type lengthEntry struct {
	length int
	of     Body // or below 0, ^ the loop's body: to be computed again from the items that are final
}

type lengthQueue []lengthEntry

func (q lengthQueue) Len() int { return len(q) }

// Less has loops that are to be computed come after all that is final at that length.
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

// shortest computes them. words has the shortest text of each lexeme.
func shortest(b *Builder, loops []*loop, words []int) ([]int, error) {
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
			l.spread(e.of)
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

// spread tells those that have i as a part that its length is final.
func (l *lengths) spread(i Body) {
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

// computeLoop computes a loop of the items that are final so far. Those that become so later are
// longer than what is found now.
func (l *lengths) computeLoop(i Body) error {
	n := &l.b.bodies[i]
	l.queued[n.arg] = false
	lp := l.loops[n.arg]
	if l.work += lp.size(); l.work > maxLengthWork {
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
	lp.ready()
	l.offer(i, lp.empty().rest(atStart))
	return nil
}

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

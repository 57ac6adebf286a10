// SPDX-License-Identifier: MIT

package grammar

import (
	"container/heap"
	"errors"
)

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

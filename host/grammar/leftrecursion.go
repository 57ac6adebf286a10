// SPDX-License-Identifier: MIT

package grammar

import (
	"fmt"
	"slices"
)

// rewriteLeftRecursion rewrites a group of rules that begin with one another, as the left-corner
// transform does (Rosenkrantz and Lewis 1970). A text of such a rule begins with a text of some
// member that begins with no member. That completes the member; then comes what follows it in a
// member that begins with it, which completes that one, and so on up to the rule itself. So each
// rule is made of copies of all members: where a copy is complete, edges lead to where members that
// begin with it go on.
func (c *compiler) rewriteLeftRecursion(group []int32, begins [][]place) {
	member := make(map[int32]bool, len(group))
	for _, i := range group {
		member[i] = true
	}
	var calls []leftCall
	for _, i := range group {
		calls = append(calls, c.findLeftCalls(i, member)...)
	}
	if len(group)*len(group) > maxPlaces || len(group)*len(calls) > maxRewriting {
		c.fail("too many rules of the grammar begin with one another: %d", len(group))
		return
	}
	more := c.findDistancesAbove(group, calls)
	if c.err != nil {
		return
	}
	made := make([]procedure, len(group))
	for k, i := range group {
		made[k] = c.rewriteMember(i, group, member, calls, begins, more[i])
	}
	for k, i := range group {
		c.procedures[i] = made[k]
		begins[i] = nil
	}
}

// leftCall is a call of a member from a left place of another.
type leftCall struct {
	in, of   int32     // procedures
	to       place     // where in goes on after the call
	progress *progress // of in at that place
}

const (
	maxBeginnings = 10_000
	maxRewriting  = 1 << 22 // calls that are considered
)

// findLeftCalls finds the calls of members from the left places of procedure i.
func (c *compiler) findLeftCalls(i int32, member map[int32]bool) []leftCall {
	type spot struct {
		at    place
		count int
		bits  string
	}
	type entry struct {
		at     place
		memory *progress
	}
	p := c.procedures[i]
	begin := entry{at: p.start}
	if p.loop >= 0 {
		begin.memory = c.loops[p.loop].newProgress()
	}
	seen := map[spot]bool{}
	open := []entry{begin}
	var calls []leftCall
	for len(open) > 0 && c.err == nil {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		key := spot{at: at.at}
		if at.memory != nil {
			key.count, key.bits = at.memory.count, fmt.Sprint(at.memory.bits)
		}
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > maxBeginnings {
			c.fail("a rule of the grammar that begins with itself has a loop that can begin in more than %d ways", maxBeginnings)
		}
		for _, e := range c.out[at.at] {
			if (e.kind == toCall || e.kind == toJump) && member[e.arg] {
				calls = append(calls, leftCall{in: i, of: e.arg, to: e.to, progress: at.memory})
			}
			if m, ok := followSilent(e, at.memory); ok {
				open = append(open, entry{e.to, m})
			}
		}
	}
	return calls
}

// followSilent reports whether an edge that reads nothing may be taken, and returns the progress
// behind it, which is not interned.
func followSilent(e edge, m *progress) (*progress, bool) {
	switch e.kind {
	case toEmpty:
		return m, true
	case toItem:
		return m, m.mayTake(int(e.arg))
	case toDone:
		return m.withItem(int(e.arg)), true
	case toMore:
		return m, m.mayContinue()
	case toEnd:
		return m, m.mayEnd()
	}
	return nil, false
}

// findDistancesAbove finds for each pair of members the shortest text that completes the first once
// the second is complete. There is none for a member that does not lead there, such as one that
// only an item calls which cannot come first.
func (c *compiler) findDistancesAbove(group []int32, calls []leftCall) map[int32]map[int32]int {
	work := 0
	all := make(map[int32]map[int32]int, len(group))
	for _, goal := range group {
		length := map[int32]int{goal: 0}
		for changed := true; changed; {
			changed = false
			if work += len(calls); work > 4*maxRewriting {
				c.fail("too many rules of the grammar begin with one another: %d", len(group))
				return nil
			}
			for _, call := range calls {
				after, ok := length[call.in]
				if !ok {
					continue
				}
				n := plus(after, c.distances[call.to].total(call.progress))
				if old, ok := length[call.of]; !ok || n < old {
					length[call.of], changed = n, true
				}
			}
		}
		all[goal] = length
	}
	return all
}

// total is the whole distance in bytes, where the loop has progress m.
func (r distance) total(m *progress) int {
	switch {
	case r.after == outsideLoop:
		return int(r.bytes)
	case r.done >= 0:
		return plus(int(r.bytes), m.shortestRestAfter(r.done))
	}
	return plus(int(r.bytes), m.shortestRest(r.after))
}

// rewriteMember makes the new procedure of one member. more has the distance to its end from where
// each member is complete.
func (c *compiler) rewriteMember(i int32, group []int32, member map[int32]bool, calls []leftCall, begins [][]place, more map[int32]int) procedure {
	leads := func(m int32) bool { _, ok := more[m]; return ok } // to the end of i
	group = slices.DeleteFunc(slices.Clone(group), func(m int32) bool { return !leads(m) })
	c.within = distance{after: outsideLoop, done: -1}
	made := procedure{start: c.newPlace(), final: c.newPlace(), loop: -1, empty: c.procedures[i].empty}
	complete := map[int32]place{}
	for _, m := range group {
		c.within.bytes = int32(more[m])
		complete[m] = c.newPlace()
	}
	c.addEdge(complete[i], toEmpty, 0, made.final)
	copies := map[place]place{}
	for _, m := range group {
		if c.err != nil {
			return made
		}
		p := c.procedures[m]
		c.copyReadPlaces(p, begins[m], complete[m], more[m], copies)
		early := c.copyLeftPlaces(begins[m], p.final)
		for _, at := range early {
			c.retarget(at, p.final, complete[m], member, copies)
		}
		c.addEdge(made.start, toProgress, c.addProgress(p, nil), early[p.start])
	}
	for _, call := range calls {
		if !leads(call.in) {
			continue
		}
		p := c.procedures[call.in]
		to := copies[call.to]
		if call.to == p.final {
			to = complete[call.in]
		}
		c.addEdge(complete[call.of], toProgress, c.addProgress(p, call.progress), to)
	}
	return made
}

// addProgress returns the number of m in program.progresses; of the progress that p begins with
// where m is nil.
func (c *compiler) addProgress(p procedure, m *progress) int32 {
	if m == nil && p.loop >= 0 {
		m = c.loops[p.loop].newProgress()
	}
	if m == nil {
		return 0
	}
	c.progresses = append(c.progresses, m)
	return int32(len(c.progresses) - 1)
}

// copyReadPlaces copies the places that p reaches once it has read something. What ends there goes
// on at complete.
func (c *compiler) copyReadPlaces(p procedure, begin []place, complete place, more int, copies map[place]place) {
	var open []place
	visit := func(at place) {
		if _, known := copies[at]; known || at == p.final {
			return
		}
		r := c.distances[at]
		r.bytes = int32(plus(int(r.bytes), more))
		c.within = r
		copies[at] = c.newPlace()
		open = append(open, at)
	}
	for _, at := range begin {
		for _, e := range c.out[at] {
			if e.kind.reads() {
				visit(e.to)
			}
		}
	}
	for len(open) > 0 && c.err == nil {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, e := range c.out[at] {
			visit(e.to)
		}
		c.out[copies[at]] = slices.Clone(c.out[at])
		c.edgeCount += len(c.out[at])
		c.retarget(copies[at], p.final, complete, nil, copies)
	}
}

// retarget makes the edges of a copied place lead to copies, and to complete in place of final. It
// leaves out calls of the members in without.
func (c *compiler) retarget(at, final, complete place, without map[int32]bool, copies map[place]place) {
	kept := c.out[at][:0]
	for _, e := range c.out[at] {
		if (e.kind == toCall || e.kind == toJump) && without[e.arg] {
			continue
		}
		if e.to == final {
			if e.to = complete; e.kind == toJump {
				e.kind = toCall
			}
		} else if to, ok := copies[e.to]; ok {
			e.to = to
		}
		kept = append(kept, e)
	}
	c.out[at] = kept
}

// removeEmptyStarts makes every procedure read at least one byte. A procedure that may be empty
// gets a copy of its left places, the places that it reaches without reading anything; from the
// copy its end is not reached. A procedure that is left recursive, that is, calls itself before it
// reads anything, is rewritten.
func (c *compiler) removeEmptyStarts() {
	begins := make([][]place, len(c.procedures))
	for i := range c.procedures {
		begins[i] = c.findLeftPlaces(&c.procedures[i])
	}
	for _, group := range c.findLeftRecursion(begins) {
		c.rewriteLeftRecursion(group, begins)
	}
	for i := range c.procedures {
		if p := &c.procedures[i]; p.empty && begins[i] != nil && c.err == nil {
			p.start = c.copyLeftPlaces(begins[i], p.final)[p.start]
		}
	}
}

// findLeftPlaces finds the places that a procedure reaches without reading anything.
func (c *compiler) findLeftPlaces(p *procedure) []place {
	seen := map[place]bool{p.start: true}
	all := []place{p.start}
	for k := 0; k < len(all); k++ {
		for _, e := range c.out[all[k]] {
			if !e.kind.reads() && !seen[e.to] {
				seen[e.to] = true
				all = append(all, e.to)
			}
		}
	}
	return all
}

// copyLeftPlaces copies left places, without the edges to final that read nothing.
func (c *compiler) copyLeftPlaces(begin []place, final place) map[place]place {
	copies := make(map[place]place, len(begin))
	for _, p := range begin {
		if p != final {
			c.within = c.distances[p]
			copies[p] = c.newPlace()
		}
	}
	for _, p := range begin {
		if p == final {
			continue
		}
		for _, e := range c.out[p] {
			to, zero := copies[e.to]
			switch {
			case e.kind.reads():
				c.addEdge(copies[p], e.kind, e.arg, e.to)
			case zero:
				c.addEdge(copies[p], e.kind, e.arg, to)
			}
		}
	}
	return copies
}

// findLeftRecursion finds the groups of procedures that call one another from their left places, by
// Tarjan's algorithm for strongly connected components (1972).
func (c *compiler) findLeftRecursion(begins [][]place) [][]int32 {
	t := &tarjan{c: c, begins: begins, order: make([]int32, len(begins)), low: make([]int32, len(begins)),
		open: make([]bool, len(begins))}
	for i := range begins {
		if t.order[i] == 0 {
			t.visit(int32(i))
		}
	}
	return t.groups
}

type tarjan struct {
	c          *compiler
	begins     [][]place
	order, low []int32
	open       []bool
	path       []int32
	seen       int32
	groups     [][]int32
}

func (t *tarjan) visit(i int32) {
	t.seen++
	t.order[i], t.low[i], t.open[i] = t.seen, t.seen, true
	t.path = append(t.path, i)
	itself := false
	for _, p := range t.begins[i] {
		for _, e := range t.c.out[p] {
			if e.kind != toCall && e.kind != toJump {
				continue
			}
			itself = itself || e.arg == i
			if t.order[e.arg] == 0 {
				t.visit(e.arg)
				t.low[i] = min(t.low[i], t.low[e.arg])
			} else if t.open[e.arg] {
				t.low[i] = min(t.low[i], t.order[e.arg])
			}
		}
	}
	if t.low[i] != t.order[i] {
		return
	}
	var group []int32
	for last := int32(-1); last != i; {
		last = t.path[len(t.path)-1]
		t.path = t.path[:len(t.path)-1]
		t.open[last] = false
		group = append(group, last)
	}
	if len(group) > 1 || itself {
		t.groups = append(t.groups, group)
	}
}

// SPDX-License-Identifier: MIT

package grammar

import (
	"fmt"
	"slices"
)

// rewriteLeft rewrites rules that begin with one another. A text of such a rule is a text that
// begins with none of them, which is a text of one, then what may come after that one where another
// begins with it, and so on until the rule itself is complete. So each is made of copies of all,
// between which lead edges from where one is complete.
func (c *compiler) rewriteLeft(group []int32, begins [][]place) {
	member := make(map[int32]bool, len(group))
	for _, i := range group {
		member[i] = true
	}
	var calls []leftCall
	for _, i := range group {
		calls = append(calls, c.leftCalls(i, member)...)
	}
	if len(group)*len(group) > maxPlaces || len(group)*len(calls) > maxRewriting {
		c.fail("too many rules of the grammar begin with one another: %d", len(group))
		return
	}
	more := c.restsAfter(group, calls)
	if c.err != nil {
		return
	}
	made := make([]procedure, len(group))
	for k, i := range group {
		made[k] = c.rewritten(i, group, member, calls, begins, more[i])
	}
	for k, i := range group {
		c.procedures[i] = made[k]
		begins[i] = nil
	}
}

// leftCall is a call of one member where another begins.
type leftCall struct {
	in, of int32   // procedures
	to     place   // where in goes on after it
	memory *memory // of in there
}

const (
	maxBeginnings = 10_000
	maxRewriting  = 1 << 22 // calls that are looked at
)

// leftCalls finds the calls of members at the beginning of procedure i.
func (c *compiler) leftCalls(i int32, member map[int32]bool) []leftCall {
	type spot struct {
		at    place
		count int
		bits  string
	}
	type entry struct {
		at     place
		memory *memory
	}
	p := c.procedures[i]
	begin := entry{at: p.start}
	if p.loop >= 0 {
		begin.memory = c.loops[p.loop].empty()
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
				calls = append(calls, leftCall{in: i, of: e.arg, to: e.to, memory: at.memory})
			}
			if m, ok := passes(e, at.memory); ok {
				open = append(open, entry{e.to, m})
			}
		}
	}
	return calls
}

// passes reports whether an edge that reads nothing may be taken, and the memory behind it, not
// interned.
func passes(e edge, m *memory) (*memory, bool) {
	switch e.kind {
	case toEmpty:
		return m, true
	case toItem:
		return m, m.may(int(e.arg))
	case toDone:
		return m.after(int(e.arg)), true
	case toMore:
		return m, m.more()
	case toEnd:
		return m, m.holds()
	}
	return nil, false
}

// restsAfter finds for each pair of members the shortest text that completes the first when the
// second is complete. A member may be in the group and begin none of it, where a loop's item that
// calls it cannot come first: then it has no such text.
func (c *compiler) restsAfter(group []int32, calls []leftCall) map[int32]map[int32]int {
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
				n := plus(after, c.rests[call.to].length(call.memory))
				if old, ok := length[call.of]; !ok || n < old {
					length[call.of], changed = n, true
				}
			}
		}
		all[goal] = length
	}
	return all
}

// length is the whole rest in bytes, where the loop remembers m.
func (r rest) length(m *memory) int {
	switch {
	case r.after == outsideLoop:
		return int(r.bytes)
	case r.done >= 0:
		return plus(int(r.bytes), m.restAfter(r.done))
	}
	return plus(int(r.bytes), m.rest(r.after))
}

// rewritten makes the procedure of one member. more has the rest after each member is complete.
func (c *compiler) rewritten(i int32, group []int32, member map[int32]bool, calls []leftCall, begins [][]place, more map[int32]int) procedure {
	leads := func(m int32) bool { _, ok := more[m]; return ok } // to where i is complete
	group = slices.DeleteFunc(slices.Clone(group), func(m int32) bool { return !leads(m) })
	c.within = rest{after: outsideLoop, done: -1}
	made := procedure{start: c.place(), final: c.place(), loop: -1, empty: c.procedures[i].empty}
	complete := map[int32]place{}
	for _, m := range group {
		c.within.bytes = int32(more[m])
		complete[m] = c.place()
	}
	c.edge(complete[i], toEmpty, 0, made.final)
	copies := map[place]place{}
	for _, m := range group {
		if c.err != nil {
			return made
		}
		p := c.procedures[m]
		c.copyRest(p, begins[m], complete[m], more[m], copies)
		early := c.copyBegin(begins[m], p.final)
		for _, at := range early {
			c.retarget(at, p.final, complete[m], member, copies)
		}
		c.edge(made.start, toMemory, c.memory(p, nil), early[p.start])
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
		c.edge(complete[call.of], toMemory, c.memory(p, call.memory), to)
	}
	return made
}

// memory is the number of m for edges, or of the memory that p begins with.
func (c *compiler) memory(p procedure, m *memory) int32 {
	if m == nil && p.loop >= 0 {
		m = c.loops[p.loop].empty()
	}
	if m == nil {
		return 0
	}
	c.memories = append(c.memories, m)
	return int32(len(c.memories) - 1)
}

// copyRest copies the places that p comes to when it has read something. What ends there goes on at
// complete.
func (c *compiler) copyRest(p procedure, begin []place, complete place, more int, copies map[place]place) {
	var open []place
	visit := func(at place) {
		if _, known := copies[at]; known || at == p.final {
			return
		}
		r := c.rests[at]
		r.bytes = int32(plus(int(r.bytes), more))
		c.within = r
		copies[at] = c.place()
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
		c.n += len(c.out[at])
		c.retarget(copies[at], p.final, complete, nil, copies)
	}
}

// retarget has the edges of a copied place lead to copies, and to complete instead of final. It
// leaves out calls of members.
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

// separateEmpty has procedures read at least one byte. One that may be empty begins in copies of
// the places that it comes to without having read anything, from which its end is not reached;
// those who call it have an edge around it. One that calls itself before it has read anything is
// rewritten.
func (c *compiler) separateEmpty() {
	begins := make([][]place, len(c.procedures))
	for i := range c.procedures {
		begins[i] = c.begin(&c.procedures[i])
	}
	for _, group := range c.leftGroups(begins) {
		c.rewriteLeft(group, begins)
	}
	for i := range c.procedures {
		if p := &c.procedures[i]; p.empty && begins[i] != nil && c.err == nil {
			p.start = c.copyBegin(begins[i], p.final)[p.start]
		}
	}
}

// begin is the places that a procedure comes to before it has read anything.
func (c *compiler) begin(p *procedure) []place {
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

// copyBegin copies these places, without what ends at final.
func (c *compiler) copyBegin(begin []place, final place) map[place]place {
	copies := make(map[place]place, len(begin))
	for _, p := range begin {
		if p != final {
			c.within = c.rests[p]
			copies[p] = c.place()
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
				c.edge(copies[p], e.kind, e.arg, e.to)
			case zero:
				c.edge(copies[p], e.kind, e.arg, to)
			}
		}
	}
	return copies
}

// leftGroups finds the groups of procedures that call one another before they have read anything,
// as Tarjan does.
func (c *compiler) leftGroups(begins [][]place) [][]int32 {
	t := &groupFinder{c: c, begins: begins, order: make([]int32, len(begins)), low: make([]int32, len(begins)),
		open: make([]bool, len(begins))}
	for i := range begins {
		if t.order[i] == 0 {
			t.visit(int32(i))
		}
	}
	return t.groups
}

type groupFinder struct {
	c          *compiler
	begins     [][]place
	order, low []int32
	open       []bool
	path       []int32
	seen       int32
	groups     [][]int32
}

func (t *groupFinder) visit(i int32) {
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

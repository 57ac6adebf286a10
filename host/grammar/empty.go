// SPDX-License-Identifier: MIT

package grammar

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

// SPDX-License-Identifier: MIT

package grammar

import (
	"cmp"
	"slices"
)

// where in a loop a text is.
type where uint8

const (
	atStart     where = iota // no item has come
	afterItem                // the loop may end, or a separator comes
	beforeItem               // an item must come
	outsideLoop              // in a rule
)

// rest is the shortest text in bytes that ends the loop, never where none does.
func (m *memory) rest(at where) int {
	if m.plain != nil {
		return m.plain.rest(at)
	}
	if m.rests[at] == 0 {
		least := never
		for i, p := range m.prospects() {
			if p.possible {
				r := remainder{loop: m.loop, memory: m, ending: &m.loop.ends[i], first: at != afterItem, count: m.count}
				least = min(least, r.find(at))
			}
		}
		m.rests[at] = least + 1
	}
	return m.rests[at] - 1
}

// restAfter is rest after an item.
func (m *memory) restAfter(item int32) int {
	if m.plain != nil {
		return m.plain.restAfter(item)
	}
	if m.loop.items[item].idle {
		return m.rest(afterItem)
	}
	known, has := m.done[item]
	if !has {
		if m.done == nil {
			m.done = map[int32]int{}
		}
		known = m.after(int(item)).rest(afterItem)
		m.done[item] = known
	}
	return known
}

// remainder finds the shortest rest that reaches an ending: the shortest item for each bit that
// must come still, and then changes of what they add to the count, each by one, the cheapest first,
// until the count is within the ending's bounds.
type remainder struct {
	loop   *loop
	memory *memory
	ending *ending
	first  bool // the next item needs no separator
	length int
	count  int
	ups    []change // which count one more
	downs  []int    // what it costs to count one less
}

// change makes a rest so much longer; item: by one item more, before which a separator comes.
type change struct {
	length int
	item   bool
}

func (r *remainder) find(at where) int {
	r.needed()
	slices.SortFunc(r.ups, func(a, b change) int {
		return cmp.Or(cmp.Compare(r.price(a, false), r.price(b, false)), cmp.Compare(a.length, b.length))
	})
	again := change{r.ending.again, true}
	for r.count < r.ending.least {
		if len(r.ups) > 0 && r.price(r.ups[0], r.first) < r.price(again, r.first) {
			r.take(r.ups[0])
			r.ups = r.ups[1:]
			r.count++
			continue
		}
		r.take(again)
		r.count++
		n := r.ending.least - r.count // all that come after cost the same, or less
		if each := r.price(again, false); n > 0 && (len(r.ups) == 0 || each <= r.price(r.ups[0], false)) {
			if each > 0 && n > never/each {
				return never
			}
			r.length, r.count = plus(r.length, n*each), r.ending.least
		}
	}
	slices.Sort(r.downs)
	for ; r.count > r.ending.most && len(r.downs) > 0; r.count-- {
		r.length, r.downs = plus(r.length, r.downs[0]), r.downs[1:]
	}
	if at == beforeItem && r.first {
		return r.shortestItem()
	}
	return r.length
}

func (r *remainder) price(c change, first bool) int {
	if c.item && !first {
		return plus(c.length, r.loop.separator)
	}
	return c.length
}

func (r *remainder) take(c change) {
	r.length = plus(r.length, r.price(c, r.first))
	r.first = r.first && !c.item
}

// needed takes the shortest item for each bit that must come, and collects the changes that are
// possible.
func (r *remainder) needed() {
	for _, bit := range r.ending.matter {
		lengths := r.loop.byBit[bit]
		switch {
		case has(r.memory.bits, bit):
		case !has(r.ending.must, bit):
			if lengths[1] != never {
				r.ups = append(r.ups, change{lengths[1], true})
			}
		case lengths[1] <= lengths[0]:
			r.take(change{lengths[1], true})
			r.count++
			if lengths[0] != never {
				r.downs = append(r.downs, lengths[0]-lengths[1])
			}
		default:
			r.take(change{lengths[0], true})
			if lengths[1] != never {
				r.ups = append(r.ups, change{lengths[1] - lengths[0], false})
			}
		}
	}
}

// shortestItem is the shortest item that may come before an ending that needs none.
func (r *remainder) shortestItem() int {
	least := never
	for _, item := range r.loop.items {
		fresh := item.bit >= 0 && !has(r.memory.bits, item.bit)
		if item.bit >= 0 && (has(r.ending.mustNot, item.bit) || !fresh && item.once) || r.count+item.count > r.ending.most {
			continue
		}
		least = min(least, item.length)
	}
	return least
}

// SPDX-License-Identifier: MIT

package grammar

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// loop is a Loop as it is followed.
type loop struct {
	items     []loopItem
	ends      []ending
	separator int      // bytes of its shortest text
	words     int      // of the bits of a memory
	most      int      // the count stops here: beyond it nothing tells counts apart
	early     []uint64 // see earlyBits

	// For each bit, the shortest items that set it, by what they add to the count.
	byBit [][2]int
}

type loopItem struct {
	bit, count int
	once, late bool
	unique     int32 // its unique text; -1: none
	length     int   // bytes of its shortest text; never: the item fits nothing
	idle       bool  // that it has come changes nothing of what must come after an item
}

// ending is a Condition.
type ending struct {
	must, mustNot []uint64
	least, most   int
	matter        []int // bits that are to be set still, or whose items count
	again         int   // bytes of the shortest item that may come any number of times and counts; never: there is none
}

// memory is what a loop remembers of the items that came. Memories are interned: equal ones are
// one.
type memory struct {
	loop  *loop
	id    uint64
	bits  []uint64
	count int
	seen  *seen         // unique texts; nil: none
	plain *memory       // the same without seen, which knows the following for all of them; nil: it is that itself
	open  []prospect    // by ending; nil: not computed
	rests [3]int        // by where; 0: not computed, else one more than the bytes
	done  map[int32]int // by item: rest after it
}

// prospect is how an ending can be reached.
type prospect struct {
	possible    bool
	least, most int // of the count, where it is reached; most may be never
}

func (b *Builder) newLoop(l *Loop) *loop {
	lp := &loop{}
	bits := 0
	for _, item := range l.Items {
		of := int32(-1)
		if item.Unique != nil {
			of = int32(len(b.uniques))
			b.uniques = append(b.uniques, b.newUnique(item.Unique))
		}
		lp.items = append(lp.items, loopItem{bit: item.Bit, count: item.Count, once: item.Once && item.Bit >= 0, late: item.Late, unique: of})
		bits = max(bits, item.Bit+1)
	}
	for _, c := range l.Ends {
		for _, bit := range append(slices.Clone(c.Must), c.MustNot...) {
			bits = max(bits, bit+1)
		}
	}
	lp.words = (bits + 63) / 64
	for _, c := range l.Ends {
		e := ending{must: lp.set(c.Must), mustNot: lp.set(c.MustNot), least: c.Min, most: c.Max}
		lp.most = max(lp.most, c.Min, c.Max+1)
		if c.Max == lexeme.Unbounded {
			e.most = never
		}
		lp.ends = append(lp.ends, e)
	}
	lp.byBit = make([][2]int, 64*lp.words)
	lp.early = lp.earlyBits()
	return lp
}

// earlyBits are what every ending wants and no late item brings.
func (lp *loop) earlyBits() []uint64 {
	early := slices.Clone(lp.ends[0].must)
	for _, e := range lp.ends {
		for w := range early {
			early[w] &= e.must[w]
		}
	}
	for _, item := range lp.items {
		if item.late && item.bit >= 0 {
			early[item.bit/64] &^= 1 << (item.bit % 64)
		}
	}
	return early
}

func (lp *loop) set(bits []int) []uint64 {
	s := make([]uint64, lp.words)
	for _, bit := range bits {
		s[bit/64] |= 1 << (bit % 64)
	}
	return s
}

func has(bits []uint64, bit int) bool { return bits[bit/64]>>(bit%64)&1 == 1 }

// covers reports whether bits has all of some.
func covers(bits, some []uint64) bool {
	for w := range some {
		if some[w]&^bits[w] != 0 {
			return false
		}
	}
	return true
}

// size is what a look at the whole loop costs.
func (lp *loop) size() int { return 1 + len(lp.ends)*(1+len(lp.items)+64*lp.words) }

// empty is the memory of a loop that begins, not interned.
func (lp *loop) empty() *memory { return &memory{loop: lp, bits: make([]uint64, lp.words)} }

// ready prepares what rest and may need, when the lengths of the items are known.
func (lp *loop) ready() {
	for i := range lp.byBit {
		lp.byBit[i] = [2]int{never, never}
	}
	for i := range lp.ends {
		lp.ends[i].again = never
	}
	for _, item := range lp.items {
		if item.bit >= 0 {
			lp.byBit[item.bit][item.count] = min(lp.byBit[item.bit][item.count], item.length)
		}
		for i := range lp.ends {
			e := &lp.ends[i]
			if item.count == 1 && !item.once && (item.bit < 0 || !has(e.mustNot, item.bit)) {
				e.again = min(e.again, item.length)
			}
		}
	}
	lp.readyBits()
}

// readyBits finds which bits matter, when byBit is known.
func (lp *loop) readyBits() {
	matters := make([]bool, len(lp.byBit))
	for i := range lp.ends {
		e := &lp.ends[i]
		e.matter = e.matter[:0]
		for bit, lengths := range lp.byBit {
			must, mustNot, counts := has(e.must, bit), has(e.mustNot, bit), lengths[1] != never
			matters[bit] = matters[bit] || must || mustNot || counts
			if !mustNot && (must || counts) {
				e.matter = append(e.matter, bit)
			}
		}
	}
	for i := range lp.items {
		item := &lp.items[i]
		item.idle = item.count == 0 && (item.bit < 0 || !matters[item.bit])
	}
}

// prospects computes how each ending can be reached from m.
func (m *memory) prospects() []prospect {
	if m.plain != nil {
		return m.plain.prospects()
	}
	if m.open != nil {
		return m.open
	}
	lp := m.loop
	m.open = make([]prospect, len(lp.ends))
	for i := range lp.ends {
		m.open[i] = lp.prospect(m, &lp.ends[i])
	}
	return m.open
}

func (lp *loop) prospect(m *memory, e *ending) prospect {
	p := prospect{least: m.count, most: m.count}
	for w := range e.must {
		if m.bits[w]&e.mustNot[w] != 0 {
			return prospect{}
		}
	}
	for _, bit := range e.matter {
		if has(m.bits, bit) {
			continue
		}
		lengths := lp.byBit[bit]
		if has(e.must, bit) {
			if min(lengths[0], lengths[1]) == never {
				return prospect{}
			}
			if lengths[0] == never {
				p.least++
			}
		}
		if lengths[1] != never {
			p.most++
		}
	}
	if e.again != never {
		p.most = never
	}
	p.possible = p.least <= e.most && p.most >= e.least
	return p
}

// holds reports whether the loop may end.
func (m *memory) holds() bool {
	for i := range m.loop.ends {
		e := &m.loop.ends[i]
		ok := m.count >= e.least && m.count <= e.most
		for w := range e.must {
			ok = ok && m.bits[w]&e.mustNot[w] == 0
		}
		ok = ok && covers(m.bits, e.must)
		if ok {
			return true
		}
	}
	return false
}

// may reports whether an item may come: it fits something, and some ending can be reached after it.
func (m *memory) may(i int) bool {
	lp := m.loop
	item := &lp.items[i]
	if item.length == never || item.once && has(m.bits, item.bit) || item.late && !covers(m.bits, lp.early) {
		return false
	}
	fresh := item.bit >= 0 && !has(m.bits, item.bit)
	for k, p := range m.prospects() {
		e := &lp.ends[k]
		if !p.possible || fresh && has(e.mustNot, item.bit) {
			continue
		}
		least, most := p.least+item.count, p.most
		if fresh {
			lengths := lp.byBit[item.bit]
			if has(e.must, item.bit) && lengths[0] == never {
				least-- // which p counts already
			}
			if lengths[1] != never && most != never {
				most += item.count - 1
			}
		}
		if least <= e.most && most >= e.least {
			return true
		}
	}
	return false
}

// more reports whether any item may come.
func (m *memory) more() bool {
	for i := range m.loop.items {
		if m.may(i) {
			return true
		}
	}
	return false
}

// after is the memory when an item has come, not interned.
func (m *memory) after(i int) *memory {
	item := &m.loop.items[i]
	to := &memory{loop: m.loop, bits: m.bits, seen: m.seen, count: min(m.count+item.count, m.loop.most)}
	if item.bit >= 0 && !has(m.bits, item.bit) {
		to.bits = slices.Clone(m.bits)
		to.bits[item.bit/64] |= 1 << (item.bit % 64)
	}
	return to
}

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

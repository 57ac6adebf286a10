// SPDX-License-Identifier: MIT

package grammar

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// loop is a compiled Loop.
type loop struct {
	items     []loopItem
	ends      []ending
	separator int      // bytes of the separator's shortest text
	words     int      // of a bit set
	most      int      // the count stops here: higher counts make no difference
	early     []uint64 // what late items wait for, see earlyBits

	// By bit: the lengths of the shortest items that set it, by what they add to the count.
	byBit [][2]int
}

type loopItem struct {
	bit, count int
	once, late bool
	unique     int32 // number of its unique text; -1: none
	length     int   // bytes of its shortest text; never: no text fits the item
	idle       bool  // the item does not change what must come after it
}

// ending is a compiled Condition.
type ending struct {
	must, mustNot []uint64
	least, most   int
	matter        []int // bits that must be set, or whose items count
	again         int   // bytes of the shortest item that counts and may come any number of times; never: there is none
}

// progress is what a loop remembers of the items that came. It is interned: equal ones are one
// pointer.
type progress struct {
	loop        *loop
	id          uint64
	bits        []uint64
	count       int
	seen        *seen         // the unique texts that came; nil: none
	plain       *progress     // the same without seen, which keeps the fields below for all that share it; nil: seen is nil
	prospectsOf []prospect    // by ending; nil: not computed
	restLengths [3]int        // by loopPoint: one more than the bytes; 0: not computed
	doneLengths map[int32]int // by item: shortestRestAfter
}

// prospect says whether an ending can still be reached, and with which counts.
type prospect struct {
	possible    bool
	least, most int // of the count where it is reached; most may be never
}

// compileLoop makes a loop of a Loop. The lengths of its items follow, in prepareLengths.
func (b *Builder) compileLoop(l *Loop) *loop {
	lp := &loop{}
	bits := 0
	for _, item := range l.Items {
		of := int32(-1)
		if item.Unique != nil {
			of = int32(len(b.uniques))
			b.uniques = append(b.uniques, b.compileUnique(item.Unique))
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
		e := ending{must: lp.bitset(c.Must), mustNot: lp.bitset(c.MustNot), least: c.Min, most: c.Max}
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

// earlyBits are the bits that every ending wants and no late item sets.
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

// bitset returns the set of some bits.
func (lp *loop) bitset(bits []int) []uint64 {
	s := make([]uint64, lp.words)
	for _, bit := range bits {
		s[bit/64] |= 1 << (bit % 64)
	}
	return s
}

func hasBit(bits []uint64, bit int) bool { return bits[bit/64]>>(bit%64)&1 == 1 }

// covers reports whether bits contains all of some.
func covers(bits, some []uint64) bool {
	for w := range some {
		if some[w]&^bits[w] != 0 {
			return false
		}
	}
	return true
}

// cost is what one look at the whole loop costs, in steps of lengths.
func (lp *loop) cost() int { return 1 + len(lp.ends)*(1+len(lp.items)+64*lp.words) }

// newProgress returns the progress of a loop that begins, not interned.
func (lp *loop) newProgress() *progress { return &progress{loop: lp, bits: make([]uint64, lp.words)} }

// prepareLengths prepares what depends on the lengths of the items.
func (lp *loop) prepareLengths() {
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
			if item.count == 1 && !item.once && (item.bit < 0 || !hasBit(e.mustNot, item.bit)) {
				e.again = min(e.again, item.length)
			}
		}
	}
	lp.prepareBits()
}

// prepareBits finds which bits matter, once byBit is known.
func (lp *loop) prepareBits() {
	matters := make([]bool, len(lp.byBit))
	for i := range lp.ends {
		e := &lp.ends[i]
		e.matter = e.matter[:0]
		for bit, lengths := range lp.byBit {
			must, mustNot, counts := hasBit(e.must, bit), hasBit(e.mustNot, bit), lengths[1] != never
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

// prospects returns how each ending can be reached from m.
func (m *progress) prospects() []prospect {
	if m.plain != nil {
		return m.plain.prospects()
	}
	if m.prospectsOf != nil {
		return m.prospectsOf
	}
	lp := m.loop
	m.prospectsOf = make([]prospect, len(lp.ends))
	for i := range lp.ends {
		m.prospectsOf[i] = lp.prospect(m, &lp.ends[i])
	}
	return m.prospectsOf
}

// prospect returns how one ending can be reached from m.
func (lp *loop) prospect(m *progress, e *ending) prospect {
	p := prospect{least: m.count, most: m.count}
	for w := range e.must {
		if m.bits[w]&e.mustNot[w] != 0 {
			return prospect{}
		}
	}
	for _, bit := range e.matter {
		if hasBit(m.bits, bit) {
			continue
		}
		lengths := lp.byBit[bit]
		if hasBit(e.must, bit) {
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

// mayEnd reports whether the loop may end here.
func (m *progress) mayEnd() bool {
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

// mayTake reports whether item i may come: some text fits it, and some ending can be reached after
// it.
func (m *progress) mayTake(i int) bool {
	lp := m.loop
	item := &lp.items[i]
	if item.length == never || item.once && hasBit(m.bits, item.bit) || item.late && !covers(m.bits, lp.early) {
		return false
	}
	fresh := item.bit >= 0 && !hasBit(m.bits, item.bit)
	for k, p := range m.prospects() {
		e := &lp.ends[k]
		if !p.possible || fresh && hasBit(e.mustNot, item.bit) {
			continue
		}
		least, most := p.least+item.count, p.most
		if fresh {
			lengths := lp.byBit[item.bit]
			if hasBit(e.must, item.bit) && lengths[0] == never {
				least-- // p counts this item already
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

// mayContinue reports whether any item may come.
func (m *progress) mayContinue() bool {
	for i := range m.loop.items {
		if m.mayTake(i) {
			return true
		}
	}
	return false
}

// withItem returns the progress after item i, not interned.
func (m *progress) withItem(i int) *progress {
	item := &m.loop.items[i]
	to := &progress{loop: m.loop, bits: m.bits, seen: m.seen, count: min(m.count+item.count, m.loop.most)}
	if item.bit >= 0 && !hasBit(m.bits, item.bit) {
		to.bits = slices.Clone(m.bits)
		to.bits[item.bit/64] |= 1 << (item.bit % 64)
	}
	return to
}

// loopPoint is a point within a loop.
type loopPoint uint8

const (
	atStart     loopPoint = iota // no item has come
	afterItem                    // the loop ends, or a separator comes
	beforeItem                   // after a separator: an item must come
	outsideLoop                  // in a rule
)

// shortestRest is the length of the shortest text from a point to the end of the loop, never where
// there is none.
func (m *progress) shortestRest(at loopPoint) int {
	if m.plain != nil {
		return m.plain.shortestRest(at)
	}
	if m.restLengths[at] == 0 {
		least := never
		for i, p := range m.prospects() {
			if p.possible {
				r := remainder{loop: m.loop, progress: m, ending: &m.loop.ends[i], first: at != afterItem, count: m.count}
				least = min(least, r.find(at))
			}
		}
		m.restLengths[at] = least + 1
	}
	return m.restLengths[at] - 1
}

// shortestRestAfter is shortestRest where an item has come that m does not count yet.
func (m *progress) shortestRestAfter(item int32) int {
	if m.plain != nil {
		return m.plain.shortestRestAfter(item)
	}
	if m.loop.items[item].idle {
		return m.shortestRest(afterItem)
	}
	known, has := m.doneLengths[item]
	if !has {
		if m.doneLengths == nil {
			m.doneLengths = map[int32]int{}
		}
		known = m.withItem(int(item)).shortestRest(afterItem)
		m.doneLengths[item] = known
	}
	return known
}

// remainder finds the shortest text that reaches one ending, greedily: it takes the shortest item
// for each bit that must still be set, and then changes the count one by one, by the cheapest
// change first, until it is within the ending's bounds.
type remainder struct {
	loop     *loop
	progress *progress
	ending   *ending
	first    bool // the next item needs no separator
	length   int
	count    int
	ups      []change // changes that add one to the count
	downs    []int    // lengths of changes that take one from it
}

// change makes the text longer by length; with item, by one item more, before which a separator
// comes.
type change struct {
	length int
	item   bool
}

// find returns the length of the shortest text from a point.
func (r *remainder) find(at loopPoint) int {
	r.takeRequired()
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
		n := r.ending.least - r.count // all further ones cost the same, or less
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

// price is the length of a change with its separator, which the first item lacks.
func (r *remainder) price(c change, first bool) int {
	if c.item && !first {
		return plus(c.length, r.loop.separator)
	}
	return c.length
}

// take applies a change.
func (r *remainder) take(c change) {
	r.length = plus(r.length, r.price(c, r.first))
	r.first = r.first && !c.item
}

// takeRequired takes the shortest item for each bit that must be set, and collects the changes that
// remain possible.
func (r *remainder) takeRequired() {
	for _, bit := range r.ending.matter {
		lengths := r.loop.byBit[bit]
		switch {
		case hasBit(r.progress.bits, bit):
		case !hasBit(r.ending.must, bit):
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

// shortestItem is the shortest item that may come where the ending wants none.
func (r *remainder) shortestItem() int {
	least := never
	for _, item := range r.loop.items {
		fresh := item.bit >= 0 && !hasBit(r.progress.bits, item.bit)
		if item.bit >= 0 && (hasBit(r.ending.mustNot, item.bit) || !fresh && item.once) || r.count+item.count > r.ending.most {
			continue
		}
		least = min(least, item.length)
	}
	return least
}

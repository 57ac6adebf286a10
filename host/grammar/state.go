// SPDX-License-Identifier: MIT

package grammar

import (
	"cmp"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// State is how far a text has come. States of one grammar that allow the same are equal, unless
// much was followed between them; they cost nothing to copy. The zero State is where nothing fits.
type State struct{ node *node }

// What a pair reads.
const (
	readsBytes  uint8 = iota // of a lexeme, of whose automaton at is the state
	readsUnique              // likewise, of a unique text
	readsToken               // the token at
	readsOther               // any token but at
)

// pair is one way to mean the text so far: within a lexeme, and what comes after it.
type pair struct {
	reads  uint8
	at     int32
	to     place // behind the lexeme
	memory *memory
	below  *frame
	trail  *trail // the unique text that it reads, or that has come before it and is not remembered yet; nil: neither
	unique int32  // which one
	doubt  bool   // in a shadow: a text of which it is not known what it must not be has ended on the way
}

// comparePairs has a pair that is in doubt come behind the same that is not.
func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.reads, b.reads), cmp.Compare(a.at, b.at), cmp.Compare(a.to, b.to),
		cmp.Compare(a.memory.name(), b.memory.name()), cmp.Compare(a.below.name(), b.below.name()),
		cmp.Compare(a.unique, b.unique), cmp.Compare(a.trail.name(), b.trail.name()),
		compareBools(a.doubt, b.doubt))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (t *trail) name() uint64 {
	if t == nil {
		return 0
	}
	return t.id
}

func (m *memory) name() uint64 {
	if m == nil {
		return 0
	}
	return m.id
}

func (f *frame) name() uint64 {
	if f == nil {
		return 0
	}
	return f.id
}

// node is what a State is: a set of pairs, sorted. It does not change, but for what is known about
// it.
type node struct {
	generation uint32 // of the table that it is in
	private    uint32 // that of the private table, where the node is private; 0: it is shared
	shadow     bool   // see Grammar.shadow
	records    bool   // a pair reads a unique text that is known, or has one to remember
	blurs      bool   // a pair is in doubt, or reads a text of which it is not known what it must not be
	doubtful   bool   // all pairs are in doubt, and the end
	mayEnd     bool   // the text may end, which is in doubt
	automata   *lexeme.Automata
	pairs      []pair
	complete   bool // the text may end
	next       [16]atomic.Pointer[steps]
	known      atomic.Pointer[maskOf]
	sole       atomic.Pointer[sole] // nil: not looked for
	shadowed   atomic.Pointer[node] // its shadow; nil: not made
	lead       atomic.Pointer[lead]
	rest       atomic.Pointer[completion]
	reach      atomic.Pointer[reach]
}

// steps are the nodes after 16 bytes that follow one another.
type steps [16]atomic.Pointer[node]

var (
	dead      = &node{}
	ambiguous = &node{} // after a step that takes too long
)

func (n *node) forget() {
	for i := range n.next {
		n.next[i].Store(nil)
	}
	n.known.Store(nil)
	n.sole.Store(nil)
	n.shadowed.Store(nil)
	n.lead.Store(nil)
}

// Start is the state before the first byte.
func (g *Grammar) Start() State { return State{g.start} }

// Complete reports whether the text may end.
func (g *Grammar) Complete(s State) bool { return s.node != nil && s.node.complete }

// Advance is the state after text; false where it does not fit.
//
// # Errors
//
//   - ErrAmbiguous: to follow the text takes more than a bounded number of steps.
func (g *Grammar) Advance(s State, text []byte) (State, bool, error) {
	return g.advance(s, text, unhurried())
}

func (g *Grammar) advance(s State, text []byte, w *work) (State, bool, error) {
	n := s.node
	if n == nil {
		return s, false, nil
	}
	for _, b := range text {
		var err error
		if n, err = g.step(n, b, w); err != nil || n == dead {
			return s, false, err
		}
	}
	return State{n}, true, nil
}

// takesToken reports whether a token may come for its number.
func (n *node) takesToken() bool {
	return len(n.pairs) > 0 && n.pairs[len(n.pairs)-1].reads > readsUnique
}

// How many bytes of states a grammar keeps, by an estimate that is rather too high. Then all are
// forgotten; those that a request holds keep what they need themselves.
const (
	maxKept    = 8 << 20
	maxPrivate = 2 << 20 // of private states
	maxLexemes = 6 << 20 // of the lexemes' automata
)

// frame is what is to come after a rule that is being read: where its caller goes on, and what the
// caller's loop remembers.
type frame struct {
	id      uint64
	to      place
	memory  *memory
	below   *frame
	private bool         // what is to come depends on unique texts
	rest    atomic.Int32 // one more than the bytes of the shortest text to the very end; 0: not computed
}

type frameKey struct {
	to     place
	memory *memory
	below  *frame
}

type memoryKey struct {
	loop  *loop
	count int
	bits  string
	seen  *seen
}

// table interns what states are made of: within one, equal frames, memories and nodes are one.
// Callers hold the grammar's lock.
type table struct {
	frames   map[frameKey]*frame
	memories map[memoryKey]*memory
	nodes    map[uint64][]*node
	masks    map[uint64]*maskOf // by what they allow
	seen     map[seenKey]*seen
	starts   map[startKey]lexeme.State // of unique texts
	bytes    int
}

// seeds keep others from choosing states whose hashes are the same.
var seeds = [3]uint64{rand.Uint64(), rand.Uint64(), rand.Uint64()}

func newTable() *table {
	return &table{frames: map[frameKey]*frame{}, memories: map[memoryKey]*memory{}, nodes: map[uint64][]*node{}, masks: map[uint64]*maskOf{},
		seen: map[seenKey]*seen{}, starts: map[startKey]lexeme.State{}}
}

// tableOf is the one of private states, or of the others.
func (g *Grammar) tableOf(private bool) *table {
	if private {
		return g.private
	}
	return g.table
}

// name returns a number that nothing else has.
func (g *Grammar) name() uint64 {
	g.names++
	return g.names
}

func (g *Grammar) frame(k frameKey) *frame {
	private := k.memory.isPrivate() || k.below != nil && k.below.private
	t := g.tableOf(private)
	f := t.frames[k]
	if f == nil {
		f = &frame{id: g.name(), to: k.to, memory: k.memory, below: k.below, private: private}
		t.frames[k] = f
		t.bytes += 160
	}
	return f
}

func (g *Grammar) memory(m *memory) *memory {
	if m == nil {
		return nil
	}
	set := make([]byte, 0, 64)
	for _, w := range m.bits {
		for i := range 8 {
			set = append(set, byte(w>>(8*i)))
		}
	}
	t := g.tableOf(m.isPrivate())
	k := memoryKey{m.loop, m.count, string(set), g.sameSeen(m.seen)}
	known := t.memories[k]
	if known == nil {
		known = &memory{loop: m.loop, id: g.name(), bits: m.bits, count: m.count, seen: k.seen}
		if k.seen != nil {
			known.plain = g.memory(&memory{loop: m.loop, bits: m.bits, count: m.count})
		}
		t.memories[k] = known
		t.bytes += 240 + 16*len(m.bits) + 24*len(m.loop.ends)
	}
	return known
}

func (n *node) end() end { return end{n.complete, n.mayEnd} }

// node interns a set of pairs, which is its own afterwards. No pairs and no end is dead.
func (g *Grammar) node(pairs []pair, end end, shadow bool) *node {
	if len(pairs) == 0 && !end.complete {
		return dead
	}
	pairs = distinct(pairs)
	private := false
	key := seeds[2]
	for i := range pairs {
		private = private || pairs[i].isPrivate()
		key = pairs[i].hash(key)
	}
	if private {
		g.private.bytes += 320 + 64*len(pairs)
		n := g.newNode(pairs, end, shadow)
		n.private = g.privates
		return n
	}
	for _, n := range g.table.nodes[key] {
		if n.end() == end && n.shadow == shadow && slices.Equal(n.pairs, pairs) {
			return n
		}
	}
	n := g.newNode(pairs, end, shadow)
	g.table.nodes[key] = append(g.table.nodes[key], n)
	g.table.bytes += 320 + 64*len(pairs)
	return n
}

func (g *Grammar) newNode(pairs []pair, end end, shadow bool) *node {
	n := &node{generation: g.generation, automata: g.automata, complete: end.complete, mayEnd: end.doubt, shadow: shadow, pairs: slices.Clone(pairs)}
	n.doubtful = !end.complete || end.doubt
	for i := range pairs {
		p := &pairs[i]
		n.records = n.records || p.trail.isKnown()
		n.blurs = n.blurs || p.doubt || p.isBlurred()
		n.doubtful = n.doubtful && p.doubt
	}
	return n
}

// hash adds a pair to a hash.
func (p *pair) hash(h uint64) uint64 {
	doubt := uint64(0)
	if p.doubt {
		doubt = 1
	}
	h = mix(h, uint64(p.reads)|doubt<<8|uint64(uint32(p.unique))<<16, uint64(uint32(p.at))|uint64(uint32(p.to))<<32)
	h = mix(h, p.memory.name(), p.below.name())
	return mix(h, p.trail.name(), 0)
}

func mix(h, x, y uint64) uint64 {
	high, low := bits.Mul64(h^x^seeds[0], y^bits.RotateLeft64(h, 32)^seeds[1])
	return high ^ low
}

// distinct sorts pairs and takes out those that are equal.
func distinct(pairs []pair) []pair {
	slices.SortFunc(pairs, comparePairs)
	return slices.CompactFunc(pairs, func(a, b pair) bool {
		b.doubt = a.doubt
		return a == b
	})
}

// bound forgets all where too much is kept.
func (g *Grammar) bound() error {
	switch {
	case g.crowded():
		g.long.Store(true)
		defer g.tell()
		return g.renew()
	case g.table.bytes >= g.mostKept:
		g.long.Store(true)
		g.forget()
	case g.private.bytes >= maxPrivate:
		g.forgetPrivate()
	}
	return nil
}

// withRoom does what may find the automata full: then it is done again in new ones. Whatever f
// uses of states it takes home itself.
func (g *Grammar) withRoom(w *work, f func() error) error {
	g.limit(w)
	err := f()
	if w.brief && errors.Is(err, lexeme.ErrTooMuch) {
		return ErrLater
	}
	if errors.Is(err, lexeme.ErrFull) {
		if w.brief {
			return ErrLater
		}
		g.long.Store(true)
		if err = g.renew(); err == nil {
			err = f()
		}
	}
	return err
}

// settle is home, in new automata if the existing ones have no room.
func (g *Grammar) settle(w *work, n *node) (home *node, err error) {
	err = g.withRoom(w, func() (err error) {
		home, err = g.home(n)
		return err
	})
	return home, err
}

// renew has automata begin anew that are full.
func (g *Grammar) renew() error {
	g.forget()
	g.automata = lexeme.NewAutomata(g.arena, g.mostLexemes)
	for i, w := range g.spelt {
		var err error
		if g.words[i], err = g.automata.Start(w.is, w.spelt); err != nil {
			return err
		}
	}
	return nil
}

func (g *Grammar) forget() {
	for _, same := range g.table.nodes {
		for _, n := range same {
			n.forget()
		}
	}
	g.table = newTable()
	g.generation++
	g.forgetPrivate()
}

// forgetPrivate forgets what is known of private states, which belong to those who hold them.
func (g *Grammar) forgetPrivate() {
	g.private = newTable()
	g.privates++
}

// home is the node of the table that equals n, which may be of an earlier one.
func (g *Grammar) home(n *node) (*node, error) {
	if n.generation == g.generation && (n.private == 0 || n.private == g.privates) || n == dead {
		return n, nil
	}
	moved := map[*frame]*frame{nil: nil}
	pairs := slices.Clone(n.pairs)
	for i := range pairs {
		p := &pairs[i]
		p.below, p.memory = g.moveFrames(p.below, moved, g.memory), g.memory(p.memory)
		if p.reads <= readsUnique && n.automata != g.automata {
			at, err := n.automata.Move(lexeme.State(p.at), g.automata)
			if err != nil {
				return nil, err
			}
			p.at = int32(at)
		}
	}
	return g.node(pairs, n.end(), n.shadow), nil
}

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
// much was followed between them. They cost nothing to copy. In the zero State nothing fits.
type State struct{ node *node }

// What a parse reads next.
const (
	readsBytes  uint8 = iota // the rest of a lexeme: at is a state of its automaton
	readsUnique              // the same for a unique text
	readsToken               // token number at
	readsOther               // any token but number at
)

// parse is one way to parse the text so far: a point within a lexeme, and the stack of what comes
// after it. It is a configuration of the pushdown automaton that program describes.
type parse struct {
	reads    uint8
	at       int32
	to       place // where the lexeme leads
	progress *progress
	below    *frame
	trail    *trail // the unique text that it reads, or that has just ended and is not recorded yet; nil: neither
	unique   int32  // number of that unique text
	doubt    bool   // in a shadow: a blurred text has ended on the way, which may not have been allowed to
}

// compareParses puts a parse that is in doubt behind the same one that is not.
func compareParses(a, b parse) int {
	return cmp.Or(cmp.Compare(a.reads, b.reads), cmp.Compare(a.at, b.at), cmp.Compare(a.to, b.to),
		cmp.Compare(a.progress.identity(), b.progress.identity()), cmp.Compare(a.below.identity(), b.below.identity()),
		cmp.Compare(a.unique, b.unique), cmp.Compare(a.trail.identity(), b.trail.identity()),
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

func (t *trail) identity() uint64 {
	if t == nil {
		return 0
	}
	return t.id
}

func (m *progress) identity() uint64 {
	if m == nil {
		return 0
	}
	return m.id
}

func (f *frame) identity() uint64 {
	if f == nil {
		return 0
	}
	return f.id
}

// node is what a State stands for: a sorted set of parses. Making nodes of sets of parses, when a
// text first reaches them, is the subset construction (Rabin and Scott 1959) done lazily, over
// stacks. A node does not change, except for what gets known about it.
type node struct {
	generation uint32 // of the tables when it was made
	private    uint32 // generation of the private table; 0: the node is shared
	shadow     bool   // see Grammar.makeShadow
	tracksText bool   // a parse reads a unique text that is known, or has one to record
	hasDoubt   bool   // a parse is in doubt or blurred
	allInDoubt bool   // all parses are in doubt, and the end if there is one
	endInDoubt bool   // complete is in doubt
	automata   *lexeme.Automata
	parses     []parse
	complete   bool // the text may end
	next       [16]atomic.Pointer[steps]
	mask       atomic.Pointer[knownMask]
	only       atomic.Pointer[onlyStep] // the only byte that may come; nil: not looked for
	shadowed   atomic.Pointer[node]     // the node's shadow; nil: not made
	first      atomic.Pointer[firstStep]
	completion atomic.Pointer[completion]
	reach      atomic.Pointer[reach]
}

// steps are the nodes after 16 consecutive bytes.
type steps [16]atomic.Pointer[node]

var (
	dead      = &node{}
	ambiguous = &node{} // after a step that takes too long
)

// forgetLinks forgets what is known of a node that belongs to the tables.
func (n *node) forgetLinks() {
	for i := range n.next {
		n.next[i].Store(nil)
	}
	n.mask.Store(nil)
	n.only.Store(nil)
	n.shadowed.Store(nil)
	n.first.Store(nil)
}

// Start returns the state before the first byte.
func (g *Grammar) Start() State { return State{g.start} }

// Complete reports whether the text may end here.
func (g *Grammar) Complete(s State) bool { return s.node != nil && s.node.complete }

// Advance returns the state after text; false where text does not fit.
//
// # Errors
//
//   - ErrAmbiguous: following the text exceeds a bound of steps.
func (g *Grammar) Advance(s State, text []byte) (State, bool, error) {
	return g.advanceWithin(s, text, fullWork())
}

func (g *Grammar) advanceWithin(s State, text []byte, w *work) (State, bool, error) {
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
	return len(n.parses) > 0 && n.parses[len(n.parses)-1].reads > readsUnique
}

// Bounds of the bytes of states that a grammar keeps, by an estimate that is rather too high.
// Beyond them all are forgotten; the states that a request holds keep what they need themselves.
const (
	maxSharedBytes   = 8 << 20
	maxPrivateBytes  = 2 << 20 // of private states
	maxAutomataBytes = 6 << 20 // of the lexemes' automata
)

// frame is an entry of a parse's stack: where the caller of a rule goes on, and the progress of the
// caller's loop. Stacks share their lower frames, so a node is a graph-structured stack (Tomita
// 1985); unlike there, a frame has only one below it.
type frame struct {
	id       uint64
	to       place
	progress *progress
	below    *frame
	private  bool         // what comes after depends on unique texts
	shortest atomic.Int32 // one more than the bytes of the shortest text to the very end; 0: not computed
}

type frameKey struct {
	to       place
	progress *progress
	below    *frame
}

type progressKey struct {
	loop  *loop
	count int
	bits  string
	seen  *seen
}

// table interns the parts of states (hash consing): equal frames, progresses and nodes in it are
// one pointer. Callers hold the grammar's lock.
type table struct {
	frames     map[frameKey]*frame
	progresses map[progressKey]*progress
	nodes      map[uint64][]*node
	masks      map[uint64]*knownMask // by what they allow
	seen       map[seenKey]*seen
	starts     map[startKey]lexeme.State // of unique texts
	bytes      int
}

// seeds keep clients from choosing states with equal hashes.
var seeds = [3]uint64{rand.Uint64(), rand.Uint64(), rand.Uint64()}

func newTable() *table {
	return &table{frames: map[frameKey]*frame{}, progresses: map[progressKey]*progress{}, nodes: map[uint64][]*node{}, masks: map[uint64]*knownMask{},
		seen: map[seenKey]*seen{}, starts: map[startKey]lexeme.State{}}
}

// tableOf returns the table of private states, or of shared ones.
func (g *Grammar) tableOf(private bool) *table {
	if private {
		return g.privateTable
	}
	return g.table
}

// newID returns a number that nothing else in the grammar has.
func (g *Grammar) newID() uint64 {
	g.lastID++
	return g.lastID
}

func (g *Grammar) internFrame(k frameKey) *frame {
	private := k.progress.isPrivate() || k.below != nil && k.below.private
	t := g.tableOf(private)
	f := t.frames[k]
	if f == nil {
		f = &frame{id: g.newID(), to: k.to, progress: k.progress, below: k.below, private: private}
		t.frames[k] = f
		t.bytes += 160
	}
	return f
}

func (g *Grammar) internProgress(m *progress) *progress {
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
	k := progressKey{m.loop, m.count, string(set), g.rehomeSeen(m.seen)}
	known := t.progresses[k]
	if known == nil {
		known = &progress{loop: m.loop, id: g.newID(), bits: m.bits, count: m.count, seen: k.seen}
		if k.seen != nil {
			known.plain = g.internProgress(&progress{loop: m.loop, bits: m.bits, count: m.count})
		}
		t.progresses[k] = known
		t.bytes += 240 + 16*len(m.bits) + 24*len(m.loop.ends)
	}
	return known
}

func (n *node) end() end { return end{n.complete, n.endInDoubt} }

// internNode returns the node of a set of parses, which it sorts in place. The node of no parse and
// no end is dead. Private nodes are not looked up: each is made anew.
func (g *Grammar) internNode(pairs []parse, end end, shadow bool) *node {
	if len(pairs) == 0 && !end.complete {
		return dead
	}
	pairs = compactParses(pairs)
	private := false
	key := seeds[2]
	for i := range pairs {
		private = private || pairs[i].isPrivate()
		key = pairs[i].hash(key)
	}
	if private {
		g.privateTable.bytes += 320 + 64*len(pairs)
		n := g.newNode(pairs, end, shadow)
		n.private = g.privateGeneration
		return n
	}
	for _, n := range g.table.nodes[key] {
		if n.end() == end && n.shadow == shadow && slices.Equal(n.parses, pairs) {
			return n
		}
	}
	n := g.newNode(pairs, end, shadow)
	g.table.nodes[key] = append(g.table.nodes[key], n)
	g.table.bytes += 320 + 64*len(pairs)
	return n
}

func (g *Grammar) newNode(pairs []parse, end end, shadow bool) *node {
	n := &node{generation: g.generation, automata: g.automata, complete: end.complete, endInDoubt: end.doubt, shadow: shadow, parses: slices.Clone(pairs)}
	n.allInDoubt = !end.complete || end.doubt
	for i := range pairs {
		p := &pairs[i]
		n.tracksText = n.tracksText || p.trail.isKnown()
		n.hasDoubt = n.hasDoubt || p.doubt || p.isBlurred()
		n.allInDoubt = n.allInDoubt && p.doubt
	}
	return n
}

// hash adds a parse to a hash.
func (p *parse) hash(h uint64) uint64 {
	doubt := uint64(0)
	if p.doubt {
		doubt = 1
	}
	h = mix(h, uint64(p.reads)|doubt<<8|uint64(uint32(p.unique))<<16, uint64(uint32(p.at))|uint64(uint32(p.to))<<32)
	h = mix(h, p.progress.identity(), p.below.identity())
	return mix(h, p.trail.identity(), 0)
}

func mix(h, x, y uint64) uint64 {
	high, low := bits.Mul64(h^x^seeds[0], y^bits.RotateLeft64(h, 32)^seeds[1])
	return high ^ low
}

// compactParses sorts parses and drops duplicates.
func compactParses(pairs []parse) []parse {
	slices.SortFunc(pairs, compareParses)
	return slices.CompactFunc(pairs, func(a, b parse) bool {
		b.doubt = a.doubt
		return a == b
	})
}

// makeRoom forgets states where too much is kept.
func (g *Grammar) makeRoom() error {
	switch {
	case g.isCrowded():
		g.long.Store(true)
		defer g.reportSize()
		return g.renewAutomata()
	case g.table.bytes >= g.maxStateBytes:
		g.long.Store(true)
		g.forgetAll()
	case g.privateTable.bytes >= maxPrivateBytes:
		g.forgetPrivate()
	}
	return nil
}

// retryWhenFull calls f, and where it finds the automata full, once more with new ones. f has to
// bring home whatever it uses of states.
func (g *Grammar) retryWhenFull(w *work, f func() error) error {
	g.limitAutomata(w)
	err := f()
	if w.brief && errors.Is(err, lexeme.ErrTooMuch) {
		return ErrLater
	}
	if errors.Is(err, lexeme.ErrFull) {
		if w.brief {
			return ErrLater
		}
		g.long.Store(true)
		if err = g.renewAutomata(); err == nil {
			err = f()
		}
	}
	return err
}

// rehomeOrRenew is rehome, with new automata if the existing ones are full.
func (g *Grammar) rehomeOrRenew(w *work, n *node) (home *node, err error) {
	err = g.retryWhenFull(w, func() (err error) {
		home, err = g.rehome(n)
		return err
	})
	return home, err
}

// renewAutomata replaces the automata, and forgets all states, which refer to them.
func (g *Grammar) renewAutomata() error {
	g.forgetAll()
	g.automata = lexeme.NewAutomata(g.arena, g.maxLexemeBytes)
	for i, w := range g.lexemes {
		var err error
		if g.lexemeStarts[i], err = g.automata.Start(w.is, w.spelt); err != nil {
			return err
		}
	}
	return nil
}

// forgetAll empties both tables.
func (g *Grammar) forgetAll() {
	for _, same := range g.table.nodes {
		for _, n := range same {
			n.forgetLinks()
		}
	}
	g.table = newTable()
	g.generation++
	g.forgetPrivate()
}

// forgetPrivate empties the table of private states. Those who hold such states keep them.
func (g *Grammar) forgetPrivate() {
	g.privateTable = newTable()
	g.privateGeneration++
}

// rehome returns the node of the present tables that equals n, which may be of earlier ones.
func (g *Grammar) rehome(n *node) (*node, error) {
	if n.generation == g.generation && (n.private == 0 || n.private == g.privateGeneration) || n == dead {
		return n, nil
	}
	moved := map[*frame]*frame{nil: nil}
	pairs := slices.Clone(n.parses)
	for i := range pairs {
		p := &pairs[i]
		p.below, p.progress = g.rebuildFrames(p.below, moved, g.internProgress), g.internProgress(p.progress)
		if p.reads <= readsUnique && n.automata != g.automata {
			at, err := n.automata.Move(lexeme.State(p.at), g.automata)
			if err != nil {
				return nil, err
			}
			p.at = int32(at)
		}
	}
	return g.internNode(pairs, n.end(), n.shadow), nil
}

// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// errMask says that a mask is too short or too long.
var errMask = errors.New("a mask needs one bit for each token of the vocabulary")

// maskOf is what is known of a state: the tokens that it allows, as a list where they are few.
type maskOf struct {
	vocabulary *Vocabulary
	words      []uint32
	few        []int32
	doubts     []int32 // of a shadow: tokens that it cannot tell of
}

// fewTokens is how many tokens are kept as a list.
const fewTokens = 256

func (m *maskOf) write(mask []uint32) {
	if m.words != nil {
		copy(mask, m.words)
		return
	}
	clear(mask)
	for _, token := range m.few {
		setBit(mask, token)
	}
}

// Mask writes which tokens may come next: bit i of word i/32 for token i. mask has v.Words() words.
//
// # Errors
//
//   - ErrAmbiguous: the mask takes more than a bounded number of steps. Token may still tell of
//     single tokens.
func (g *Grammar) Mask(s State, v *Vocabulary, mask []uint32) error {
	return g.mask(s, v, mask, unhurried())
}

func (g *Grammar) mask(s State, v *Vocabulary, mask []uint32, w *work) error {
	if len(mask) != v.Words() {
		return errMask
	}
	n := s.node
	if n == nil {
		clear(mask)
		return nil
	}
	if known := n.known.Load(); known != nil && known.vocabulary == v {
		known.write(mask)
		return nil
	}
	n, err := g.current(n, w)
	if err != nil {
		return err
	}
	if g.hasShadow(n) {
		return g.maskByShadow(n, v, mask, w)
	}
	_, err = g.ownMask(n, v, mask, w)
	return err
}

// ownMask writes the mask of a node that has no shadow, or is one, and returns what is known of it.
func (g *Grammar) ownMask(n *node, v *Vocabulary, mask []uint32, w *work) (*maskOf, error) {
	if known := n.known.Load(); known != nil && known.vocabulary == v {
		known.write(mask)
		return known, nil
	}
	clear(mask)
	m := masking{g: g, v: v, mask: mask, work: w}
	if err := m.fill(n); err != nil {
		return nil, err
	}
	return g.keep(n, v, mask, m.doubts, w), nil
}

// maskByShadow writes the mask of a node's shadow, and takes out what the node itself does not
// allow.
func (g *Grammar) maskByShadow(n *node, v *Vocabulary, mask []uint32, w *work) error {
	shadow, err := g.shadowOf(n, w)
	if err != nil {
		return err
	}
	known, err := g.ownMask(shadow, v, mask, w)
	if err != nil {
		return err
	}
	refuted := false
	for _, token := range known.doubts {
		to, err := g.token(n, v, token, w)
		if err != nil {
			return err
		}
		if to == dead {
			mask[token/32] &^= 1 << (token % 32)
			refuted = true
		}
	}
	switch {
	case !refuted:
		n.known.Store(known)
	case n.private == 0:
		g.keep(n, v, mask, nil, w)
	}
	return nil
}

// current is n, or its like in the present table.
func (g *Grammar) current(n *node, w *work) (*node, error) {
	if err := g.lock(w); err != nil {
		return nil, err
	}
	defer g.unlock()
	if err := w.also(g.moving(n, w.left)); err != nil {
		return nil, err
	}
	return g.settle(w, n)
}

// masking is the making of one mask.
type masking struct {
	g    *Grammar
	v    *Vocabulary
	mask []uint32
	path []*node // after each byte of the text that is walked
	work *work

	doubts []int32 // tokens that may not be allowed
}

func (m *masking) fill(n *node) error {
	if err := m.named(n); err != nil {
		return err
	}
	if n.complete {
		for _, token := range m.v.end {
			setBit(m.mask, token)
		}
	}
	room, any, err := m.g.room(n, m.work)
	if err != nil {
		return err
	}
	if !any {
		return m.walk(n, &m.v.all)
	}
	within, err := m.v.slices.within(room, m.work)
	if err != nil {
		return err
	}
	for w, bits := range within.mask {
		m.mask[w] |= bits
	}
	for _, t := range within.beyond {
		if err := m.walk(n, t); err != nil {
			return err
		}
	}
	return nil
}

// nodesPerStep is how many nodes of a trie take as long to walk as a step, where what comes after
// them is known.
const nodesPerStep = 32

// walk allows the tokens of a trie whose text fits.
func (m *masking) walk(n *node, t *trie) error {
	if len(m.path) <= t.depth {
		m.path = make([]*node, t.depth+1)
	}
	path, nodes := m.path, t.nodes
	path[0] = n
	since := 0
	for i := uint32(0); int(i) < len(nodes)-1; {
		if since++; since == nodesPerStep {
			if since = 0; m.work.also(1) != nil {
				return ErrLater
			}
		}
		at := &nodes[i]
		to := path[at.depth].after(at.label)
		if to == nil || to == ambiguous {
			var err error
			if path[at.depth], to, err = m.g.stepHome(path[at.depth], at.label, m.work); err != nil {
				return err
			}
		}
		if to == dead {
			i = at.skip
			continue
		}
		path[at.depth+1] = to
		for _, token := range t.tokens[at.first:nodes[i+1].first] {
			setBit(m.mask, token)
			if to.doubtful {
				m.doubts = append(m.doubts, token)
			}
		}
		i++
	}
	return nil
}

// named allows the tokens that may come for their number.
func (m *masking) named(n *node) error {
	except := int32(-1)
	for _, p := range n.pairs {
		switch p.reads {
		case readsToken:
			if m.v.has(p.at) && m.v.isNamed[p.at] {
				setBit(m.mask, p.at)
			}
		case readsOther:
			if except == p.at {
				continue
			}
			if err := m.work.also(len(m.v.pieces) / nodesPerStep); err != nil {
				return err
			}
			for token := range int32(len(m.v.pieces)) {
				if m.v.isNamed[token] && token != p.at {
					setBit(m.mask, token)
				}
			}
			except = p.at
		}
	}
	return nil
}

// keep remembers a mask, unless others take long just now.
func (g *Grammar) keep(n *node, v *Vocabulary, mask []uint32, doubts []int32, w *work) *maskOf {
	known := &maskOf{vocabulary: v, doubts: doubts}
	for word, bits := range mask {
		for i := int32(0); bits != 0 && len(known.few) <= fewTokens; bits, i = bits>>1, i+1 {
			if bits&1 == 1 {
				known.few = append(known.few, int32(word*32)+i)
			}
		}
	}
	var key uint64
	if len(known.few) > fewTokens {
		known.few = nil
		for _, bits := range mask {
			key = (key ^ uint64(bits)) * 0x9e3779b97f4a7c15
			key ^= key >> 29
		}
	}
	if g.lock(w) != nil {
		if known.few == nil {
			known.words = slices.Clone(mask)
		}
		return known
	}
	defer g.unlock()
	if known.few == nil {
		if same := g.table.masks[key]; same != nil && same.vocabulary == v && slices.Equal(same.words, mask) && slices.Equal(same.doubts, doubts) {
			known = same
		} else {
			known.words = slices.Clone(mask)
			if n.generation != g.generation {
				return known
			}
			g.table.masks[key] = known
			g.table.bytes += 4*len(mask) + 100
		}
	}
	if n.generation == g.generation {
		g.table.bytes += 4*(len(known.few)+len(doubts)) + 60
		n.known.Store(known)
	}
	return known
}

// alphabets is how many classes of plain characters there are: each has those of the ones before
// it, but for digits and letters.
const alphabets = lexeme.PlainAny + 1

// room is for each class of plain characters how many of them fit surely, whichever they are; any
// reports whether some do.
func (g *Grammar) room(n *node, w *work) (most [alphabets]int, any bool, err error) {
	if err := g.lock(w); err != nil {
		return most, false, err
	}
	defer g.unlock()
	home, err := g.settle(w, n)
	if err != nil {
		return most, false, err
	}
	for i := range home.pairs {
		p := &home.pairs[i]
		if p.reads > readsUnique {
			continue
		}
		if err := w.also(1); err != nil {
			return most, false, err
		}
		for of := range alphabets {
			room, err := g.roomOf(lexeme.State(p.at), of, w)
			if err != nil {
				return most, false, err
			}
			most[of] = max(most[of], room)
			any = any || most[of] > 0
		}
	}
	return most, any, nil
}

// roomOf is the room of a lexeme's state. Where few steps do not suffice to find it and there are
// more, it takes as many as there are.
func (g *Grammar) roomOf(s lexeme.State, of lexeme.Plain, w *work) (int, error) {
	few := briefSteps
	if w.brief {
		few = w.left
	}
	before := g.automata.Spent()
	g.automata.Within(few * lexemeSteps)
	room := g.automata.Room(s, of)
	spent := g.automata.Spent() - before
	if spent >= few*lexemeSteps && !w.brief {
		g.long.Store(true)
		g.automata.Within(maxWork * lexemeSteps)
		room = g.automata.Room(s, of)
	}
	return room, w.also(spent / lexemeSteps)
}

// MaskCompletable is Mask without the tokens after which fewer tokens are left than complete the
// text, of so many with the one that comes next. Where to find out takes more than a bounded
// number of steps, it leaves out more, but never all: in the end all but the longest token of the
// shortest text. False: so many do not complete the text, and the mask is empty.
//
// # Errors
//
//   - as those of Completes
func (g *Grammar) MaskCompletable(s State, v *Vocabulary, tokens int, mask []uint32) (bool, error) {
	err := g.Mask(s, v, mask)
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		return false, err
	}
	n := s.node
	if n == nil {
		return false, nil
	}
	m := &narrowing{completions: newCompletions(g, v), state: n, mask: mask, left: tokens - 1, verdicts: map[*node]verdict{}}
	fits, failed := m.within(n, tokens)
	if errors.Is(failed, ErrAmbiguous) {
		clear(mask)
		m.work.left = maxWork
		token, err := m.farthest(n)
		if err == nil {
			setBit(mask, token)
		}
		return err == nil, err
	}
	if !fits || failed != nil {
		clear(mask)
		return false, failed
	}
	shared := n // whose tokens are looked at
	if !n.takesToken() {
		if shared, failed = m.shadow(n); failed != nil {
			clear(mask)
			return false, failed
		}
	}
	if known := shared.reach.Load(); err == nil && known != nil && known.vocabulary == v && known.bytes <= m.left && v.spells {
		return true, nil
	}
	m.allowed = slices.Clone(mask)
	clear(mask)
	if n.complete {
		for _, token := range v.end {
			setBit(mask, token)
		}
	}
	if err == nil {
		if m.state, err = g.current(n, &m.work); err == nil {
			err = m.narrow(shared)
		}
	}
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		return false, err
	}
	if err == nil {
		shared.reach.Store(&reach{v, m.longest})
	}
	if n.complete {
		return true, nil
	}
	m.work.left = maxWork
	rest, err := m.of(n)
	if err == nil {
		setBit(mask, rest.first)
	}
	return true, err
}

// reach is how many bytes are missing at most after any token that a node allows, for a vocabulary.
type reach struct {
	vocabulary *Vocabulary
	bytes      int
}

// narrowing is the making of a mask of fewer tokens.
type narrowing struct {
	*completions
	state    *node
	allowed  []uint32 // by the grammar
	mask     []uint32
	left     int // tokens after the next
	longest  int // rest after a token, in bytes
	verdicts map[*node]verdict
	last     *node // that was looked at: most often the next is the same
	lastIs   verdict
}

// verdict is whether enough tokens are left after a node.
type verdict uint8

const (
	tooFew verdict = iota + 1
	enough
	unsure // it is a shadow, of which that depends on the state
)

func (m *narrowing) narrow(n *node) error {
	if n.takesToken() {
		return m.each(n)
	}
	t := &m.v.all
	path := make([]*node, t.depth+1)
	path[0] = n
	for i := 0; i < len(t.nodes)-1; {
		at := &t.nodes[i]
		to := path[at.depth].after(at.label)
		if to == nil || to == ambiguous {
			var err error
			if path[at.depth], to, err = m.g.stepHome(path[at.depth], at.label, &m.work); err != nil {
				return err
			}
		}
		if to == dead {
			i = int(at.skip)
			continue
		}
		path[at.depth+1] = to
		for _, token := range t.tokens[at.first:t.nodes[i+1].first] {
			if err := m.consider(token, to); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// each is narrow where tokens may come for their number.
func (m *narrowing) each(n *node) error {
	for w, word := range m.allowed {
		for ; word != 0; word &= word - 1 {
			token := int32(32*w + bits.TrailingZeros32(word))
			if m.v.isEnd[token] {
				continue
			}
			to, err := m.follow(n, named+token)
			if err == nil {
				err = m.consider(token, to)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// consider allows a token where enough are left after it.
func (m *narrowing) consider(token int32, to *node) error {
	is := m.lastIs
	if to != m.last {
		if is = m.verdicts[to]; is == 0 {
			var err error
			if is, err = m.judge(to); err != nil {
				return err
			}
			m.verdicts[to] = is
		}
		m.last, m.lastIs = to, is
	}
	if m.allowed[token>>5]>>(token&31)&1 == 0 { // by the state, though its shadow allows it
		return nil
	}
	if is == unsure {
		own, err := m.g.token(m.state, m.v, token, &m.work)
		if err == nil {
			is, err = m.judge(own)
		}
		if err != nil {
			return err
		}
	}
	if is == enough {
		setBit(m.mask, token)
	}
	return nil
}

// judge looks at a node for the first time.
func (m *narrowing) judge(n *node) (verdict, error) {
	bytes, err := m.g.Shortest(State{n})
	fits := false
	if err == nil {
		fits, err = m.within(n, m.left)
	}
	switch {
	case errors.Is(err, ErrAmbiguous):
		return tooFew, err
	case errors.Is(err, errUnsure):
		m.longest = max(m.longest, bytes)
		return unsure, nil
	case err != nil: // nobody can tell
		m.longest = never
		return tooFew, nil //nolint:nilerr // it is an answer
	}
	m.longest = max(m.longest, bytes)
	if fits {
		return enough, nil
	}
	return tooFew, nil
}

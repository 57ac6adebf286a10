// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// errMask says that a mask has the wrong length.
var errMask = errors.New("a mask needs one bit for each token of the vocabulary")

// knownMask is what is known of a state's mask: the allowed tokens, as a list where they are few.
type knownMask struct {
	vocabulary *Vocabulary
	words      []uint32
	few        []int32
	doubts     []int32 // of a shadow: allowed tokens that are in doubt
}

// fewTokens is up to how many tokens are kept as a list.
const fewTokens = 256

func (m *knownMask) writeTo(mask []uint32) {
	if m.words != nil {
		copy(mask, m.words)
		return
	}
	clear(mask)
	for _, token := range m.few {
		setBit(mask, token)
	}
}

// Mask writes which tokens may come next: bit i%32 of word i/32 for token i. mask has v.Words()
// words.
//
// # Errors
//
//   - ErrAmbiguous: the mask exceeds a bound of steps. Token may still answer for single tokens.
func (g *Grammar) Mask(s State, v *Vocabulary, mask []uint32) error {
	return g.maskWithin(s, v, mask, fullWork())
}

func (g *Grammar) maskWithin(s State, v *Vocabulary, mask []uint32, w *work) error {
	if len(mask) != v.Words() {
		return errMask
	}
	n := s.node
	if n == nil {
		clear(mask)
		return nil
	}
	if known := n.mask.Load(); known != nil && known.vocabulary == v {
		known.writeTo(mask)
		return nil
	}
	n, err := g.rehomeUnlocked(n, w)
	if err != nil {
		return err
	}
	if g.hasShadow(n) {
		return g.writeMaskByShadow(n, v, mask, w)
	}
	_, err = g.writeOwnMask(n, v, mask, w)
	return err
}

// writeOwnMask writes the mask of a node that has no shadow, or is one.
func (g *Grammar) writeOwnMask(n *node, v *Vocabulary, mask []uint32, w *work) (*knownMask, error) {
	if known := n.mask.Load(); known != nil && known.vocabulary == v {
		known.writeTo(mask)
		return known, nil
	}
	clear(mask)
	m := masking{g: g, v: v, mask: mask, work: w}
	if err := m.fill(n); err != nil {
		return nil, err
	}
	return g.rememberMask(n, v, mask, m.doubts, w), nil
}

// writeMaskByShadow writes the mask of a node's shadow, less the tokens in doubt that the node
// itself does not allow.
func (g *Grammar) writeMaskByShadow(n *node, v *Vocabulary, mask []uint32, w *work) error {
	shadow, err := g.shadowOf(n, w)
	if err != nil {
		return err
	}
	known, err := g.writeOwnMask(shadow, v, mask, w)
	if err != nil {
		return err
	}
	refuted := false
	for _, token := range known.doubts {
		to, err := g.stepToken(n, v, token, w)
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
		n.mask.Store(known)
	case n.private == 0:
		g.rememberMask(n, v, mask, nil, w)
	}
	return nil
}

// rehomeUnlocked is rehomeOrRenew for a caller without the lock.
func (g *Grammar) rehomeUnlocked(n *node, w *work) (*node, error) {
	if err := g.lock(w); err != nil {
		return nil, err
	}
	defer g.unlock()
	if err := w.spendIfBrief(g.rehomingSteps(n, w.left)); err != nil {
		return nil, err
	}
	return g.rehomeOrRenew(w, n)
}

// masking makes one mask.
type masking struct {
	g    *Grammar
	v    *Vocabulary
	mask []uint32
	path []*node // by depth: the node after the bytes of the trie's path
	work *work

	doubts []int32 // allowed tokens that are in doubt
}

func (m *masking) fill(n *node) error {
	if err := m.allowNamed(n); err != nil {
		return err
	}
	if n.complete {
		for _, token := range m.v.end {
			setBit(m.mask, token)
		}
	}
	room, any, err := m.g.findRoom(n, m.work)
	if err != nil {
		return err
	}
	if !any {
		return m.walkTrie(n, &m.v.all)
	}
	within, err := m.v.slices.allowedWithin(room, m.work)
	if err != nil {
		return err
	}
	for w, bits := range within.mask {
		m.mask[w] |= bits
	}
	for _, t := range within.beyond {
		if err := m.walkTrie(n, t); err != nil {
			return err
		}
	}
	return nil
}

// nodesPerStep is how many nodes of a trie a walk visits in the time of a step, where the states
// are known.
const nodesPerStep = 32

// walkTrie allows the tokens of a trie whose text fits.
func (m *masking) walkTrie(n *node, t *trie) error {
	if len(m.path) <= t.depth {
		m.path = make([]*node, t.depth+1)
	}
	path, nodes := m.path, t.nodes
	path[0] = n
	since := 0
	for i := uint32(0); int(i) < len(nodes)-1; {
		if since++; since == nodesPerStep {
			if since = 0; m.work.spendIfBrief(1) != nil {
				return ErrLater
			}
		}
		at := &nodes[i]
		to := path[at.depth].knownStep(at.label)
		if to == nil || to == ambiguous {
			var err error
			if path[at.depth], to, err = m.g.stepFromHome(path[at.depth], at.label, m.work); err != nil {
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
			if to.allInDoubt {
				m.doubts = append(m.doubts, token)
			}
		}
		i++
	}
	return nil
}

// allowNamed allows the tokens that may come for their number.
func (m *masking) allowNamed(n *node) error {
	except := int32(-1)
	for _, p := range n.parses {
		switch p.reads {
		case readsToken:
			if m.v.has(p.at) && m.v.isNamed[p.at] {
				setBit(m.mask, p.at)
			}
		case readsOther:
			if except == p.at {
				continue
			}
			if err := m.work.spendIfBrief(len(m.v.pieces) / nodesPerStep); err != nil {
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

// rememberMask keeps a mask for its node, unless the lock is held for long. Equal masks are kept
// once.
func (g *Grammar) rememberMask(n *node, v *Vocabulary, mask []uint32, doubts []int32, w *work) *knownMask {
	known := &knownMask{vocabulary: v, doubts: doubts}
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
		n.mask.Store(known)
	}
	return known
}

// alphabets is the number of classes of plain characters. Each contains the ones before it, except
// that letters do not contain digits.
const alphabets = lexeme.PlainAny + 1

// findRoom returns, by class of plain characters, how many of them surely fit, whichever they are;
// any reports whether some do.
func (g *Grammar) findRoom(n *node, w *work) (most [alphabets]int, any bool, err error) {
	if err := g.lock(w); err != nil {
		return most, false, err
	}
	defer g.unlock()
	home, err := g.rehomeOrRenew(w, n)
	if err != nil {
		return most, false, err
	}
	for i := range home.parses {
		p := &home.parses[i]
		if p.reads > readsUnique {
			continue
		}
		if err := w.spendIfBrief(1); err != nil {
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

// roomOf is the room of a lexeme's state: first with few steps, then, if those do not suffice and
// the operation is not brief, with all.
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
	return room, w.spendIfBrief(spent / lexemeSteps)
}

// MaskCompletable is Mask without the tokens after which too few tokens are left to complete the
// text, where tokens counts the next one too. Where finding out exceeds a bound of steps, it leaves
// out more, but never all: in the extreme all but the longest token of the shortest text. False: so
// many tokens do not complete the text, and the mask is empty.
//
// # Errors
//
//   - Those of Completes.
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
	fits, failed := m.completesWithin(n, tokens)
	if errors.Is(failed, ErrAmbiguous) {
		clear(mask)
		m.work.left = maxWork
		token, err := m.longestToken(n)
		if err == nil {
			setBit(mask, token)
		}
		return err == nil, err
	}
	if !fits || failed != nil {
		clear(mask)
		return false, failed
	}
	shared := n // the node whose tokens are considered
	if !n.takesToken() {
		if shared, failed = m.shadow(n); failed != nil {
			clear(mask)
			return false, failed
		}
	}
	if known := shared.reach.Load(); err == nil && known != nil && known.vocabulary == v && known.bytes <= m.left && v.spellsAll {
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
		if m.state, err = g.rehomeUnlocked(n, &m.work); err == nil {
			err = m.narrowByTrie(shared)
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
	rest, err := m.find(n)
	if err == nil {
		setBit(mask, rest.first)
	}
	return true, err
}

// longestToken is the longest token that a node's completion begins with.
func (r *completions) longestToken(n *node) (token int32, err error) {
	token = -1
	for at, i := -1, 0; i < r.v.all.depth && !n.complete; i++ {
		label, to, err := r.takeFirst(n)
		if err != nil && token < 0 {
			return -1, err
		}
		if err == nil && label >= tokenLabel && i == 0 {
			return label - tokenLabel, nil
		}
		if err != nil || label >= tokenLabel {
			break
		}
		if at = r.v.all.child(at, byte(label)); at < 0 {
			break
		}
		if t := &r.v.all; t.nodes[at].first < t.nodes[at+1].first {
			token = t.tokens[t.nodes[at].first]
		}
		n = to
	}
	if token < 0 {
		return -1, ErrUnspelled
	}
	return token, nil
}

// reach is the most bytes that are missing after any token that a node allows, for a vocabulary.
type reach struct {
	vocabulary *Vocabulary
	bytes      int
}

// narrowing makes a mask of fewer tokens.
type narrowing struct {
	*completions
	state    *node
	allowed  []uint32 // by the grammar
	mask     []uint32
	left     int // tokens after the next one
	longest  int // the most bytes that are missing after a token
	verdicts map[*node]verdict
	last     *node // that was judged: most often the next is the same
	lastIs   verdict
}

// verdict is whether enough tokens are left after a node.
type verdict uint8

const (
	tooFew verdict = iota + 1
	enough
	unsure // the node is a shadow, and the answer depends on the state itself
)

// narrowByTrie walks the trie, and allows the tokens after which enough are left.
func (m *narrowing) narrowByTrie(n *node) error {
	if n.takesToken() {
		return m.narrowEach(n)
	}
	t := &m.v.all
	path := make([]*node, t.depth+1)
	path[0] = n
	for i := 0; i < len(t.nodes)-1; {
		at := &t.nodes[i]
		to := path[at.depth].knownStep(at.label)
		if to == nil || to == ambiguous {
			var err error
			if path[at.depth], to, err = m.g.stepFromHome(path[at.depth], at.label, &m.work); err != nil {
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

// narrowEach is narrowByTrie where tokens may come for their number, so that it has to follow each
// by itself.
func (m *narrowing) narrowEach(n *node) error {
	for w, word := range m.allowed {
		for ; word != 0; word &= word - 1 {
			token := int32(32*w + bits.TrailingZeros32(word))
			if m.v.isEnd[token] {
				continue
			}
			to, err := m.follow(n, tokenLabel+token)
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

// consider allows a token if enough are left after it.
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
	if m.allowed[token>>5]>>(token&31)&1 == 0 { // not allowed by the state itself, only by its shadow
		return nil
	}
	if is == unsure {
		own, err := m.g.stepToken(m.state, m.v, token, &m.work)
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

// judge finds the verdict on a node.
func (m *narrowing) judge(n *node) (verdict, error) {
	bytes, err := m.g.Shortest(State{n})
	fits := false
	if err == nil {
		fits, err = m.completesWithin(n, m.left)
	}
	switch {
	case errors.Is(err, ErrAmbiguous):
		return tooFew, err
	case errors.Is(err, errUnsure):
		m.longest = max(m.longest, bytes)
		return unsure, nil
	case err != nil: // it cannot be told
		m.longest = never
		return tooFew, nil //nolint:nilerr // it is an answer
	}
	m.longest = max(m.longest, bytes)
	if fits {
		return enough, nil
	}
	return tooFew, nil
}

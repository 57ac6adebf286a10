// SPDX-License-Identifier: MIT

package grammar

import (
	"bytes"
	"errors"
	"slices"
)

// Rest is at most how many tokens complete s, 0 where the text may end: the fewest that spell one
// of the shortest texts that do. It is always the same text, so some token makes Rest one less.
//
// # Errors
//
//   - ErrUnspelled: no tokens spell that text.
//   - ErrAmbiguous, lexeme.ErrTooMuch: finding out exceeds a bound of work.
func (g *Grammar) Rest(s State, v *Vocabulary) (int, error) {
	if s.node == nil {
		return never, ErrUnspelled
	}
	r := newCompletions(g, v)
	n, err := r.find(s.node)
	if errors.Is(err, ErrAmbiguous) && v.spellsAll {
		return g.Shortest(s)
	}
	if err == nil && n.tokens == never {
		return never, ErrUnspelled
	}
	return n.tokens, err
}

// Completes reports whether tokens suffice to complete s. It costs little where there are as many
// as bytes are missing.
//
// # Errors
//
//   - Those of Rest, except ErrUnspelled.
func (g *Grammar) Completes(s State, v *Vocabulary, tokens int) (bool, error) {
	if s.node == nil {
		return false, nil
	}
	r := newCompletions(g, v)
	return r.completesWithin(s.node, tokens)
}

// Ended reports whether the text may end, and nothing may follow.
func (g *Grammar) Ended(s State) bool { return g.endsWithin(s, 0) }

// mostSpace bounds the states that are visited behind a text's end: white space with one more line
// of indentation has fifty.
const mostSpace = 128

// Over reports whether the text may end, and nothing but white space may follow.
func (g *Grammar) Over(s State) bool { return g.endsWithin(s, mostSpace) }

// endsWithin reports whether the text may end, and nothing may follow but white space of fewer than
// most states.
func (g *Grammar) endsWithin(s State, most int) bool {
	if s.node == nil || !s.node.complete {
		return false
	}
	w := work{left: maxWork}
	seen := map[*node]bool{s.node: true}
	for open := []*node{s.node}; len(open) > 0; {
		n := open[0]
		if open = open[1:]; n.takesToken() {
			return false
		}
		for b := 255; b >= 0; b-- {
			to, err := g.step(n, byte(b), &w)
			switch {
			case err == nil && to == dead:
			case err != nil || bytes.IndexByte([]byte(" \t\r\n"), byte(b)) < 0 || len(seen) >= most:
				return false
			case !seen[to]:
				seen[to] = true
				open = append(open, to)
			}
		}
	}
	return true
}

// completions finds completions, in one operation.
type completions struct {
	g    *Grammar
	v    *Vocabulary
	work work
}

// completion is the rest of a text from a node on, as it would be completed: of the shortest texts,
// the one that chooseLabel picks at each step. It is kept with the node.
type completion struct {
	vocabulary *Vocabulary
	label      int32       // its first byte, or tokenLabel + a token that comes for its number
	first      int32       // of the fewest tokens that spell it
	tokens     int         // how many those are; never: none spell it
	next       *completion // nil: the text may end here
}

// tokenLabel plus a token is the label of a token that comes for its number.
const tokenLabel = 256

// firstStepWork is the cost of finding a firstStep.
const firstStepWork = 16

func newCompletions(g *Grammar, v *Vocabulary) *completions {
	return &completions{g: g, v: v, work: work{left: maxWork}}
}

func (r *completions) completesWithin(n *node, tokens int) (bool, error) {
	bytes, err := r.g.Shortest(State{n})
	switch {
	case err != nil:
		return false, err
	case bytes == 0:
		return tokens >= 0, nil
	case bytes <= tokens && r.v.spellsAll:
		return true, nil
	case n.hasDoubt && tokens <= 0:
		return false, errUnsure
	case tokens <= 0 || len(r.g.uniques) == 0 && bytes/tokens > r.v.all.depth: // with unique texts, fewer bytes may do
		return false, nil
	}
	rest, err := r.find(n)
	return err == nil && rest.tokens <= tokens, err
}

// way is a text on its way to the end. It leads through shadows, which other answers share, as long
// as it is certain that the states themselves would lead on likewise.
type way struct {
	path  []wayStep
	exact *node // the last state itself on the way
	since int   // how much of the path lies before it
}

type wayStep struct {
	at *node
	is *completion
}

// find returns the completion of a node, or errUnsure where the node is a shadow.
func (r *completions) find(n *node) (*completion, error) {
	if known := n.completion.Load(); known != nil && known.vocabulary == r.v {
		return known, nil
	}
	w := way{exact: n}
	after, err := r.extend(&w)
	if err != nil {
		return &completion{tokens: never}, err
	}
	for i := len(w.path) - 1; i >= 0; i-- {
		at := w.path[i]
		at.is.next = after
		r.countTokens(at.is)
		if after = at.is; i >= w.since {
			at.at.completion.Store(after)
		}
	}
	n.completion.Store(after)
	return after, nil
}

// extend leads a way on, to a node whose completion is known.
func (r *completions) extend(w *way) (*completion, error) {
	at, err := r.shadow(w.exact)
	for err == nil {
		if known := at.completion.Load(); known != nil && known.vocabulary == r.v {
			return known, nil
		}
		if at.complete && !at.endInDoubt {
			return &completion{vocabulary: r.v}, nil
		}
		if err := r.work.spend(1); err != nil {
			return nil, err
		}
		label, to, failed := r.takeFirst(at)
		if errors.Is(failed, errUnsure) && !w.exact.shadow {
			at, err = r.catchUp(w)
			continue
		}
		if failed != nil {
			return nil, failed
		}
		w.path = append(w.path, wayStep{at, &completion{vocabulary: r.v, label: label}})
		at = to
	}
	return nil, err
}

// catchUp leads the state itself along the path so far, and returns its shadow.
func (r *completions) catchUp(w *way) (*node, error) {
	for _, s := range w.path[w.since:] {
		to, err := r.follow(w.exact, s.is.label)
		if err == nil && to == dead {
			err = ErrAmbiguous // to say how the text can be completed
		}
		if err != nil {
			return nil, err
		}
		w.exact = to
	}
	w.since = len(w.path)
	return r.shadow(w.exact)
}

// shadow returns the shadow of a node that has one, else the node.
func (r *completions) shadow(n *node) (*node, error) {
	if !r.g.hasShadow(n) {
		return n, nil
	}
	return r.g.shadowOf(n, &r.work)
}

// countTokens finds the fewest tokens that spell a completion, by dynamic programming over the
// completions after it.
func (r *completions) countTokens(is *completion) {
	is.tokens = never
	if is.label >= tokenLabel {
		is.tokens, is.first = plus(is.next.tokens, 1), is.label-tokenLabel
		return
	}
	t, at := &r.v.all, int(r.v.roots[byte(is.label)])
	for x := is; at >= 0; at = t.child(at, byte(x.label)) {
		if t.nodes[at].first < t.nodes[at+1].first && x.next.tokens < is.tokens-1 {
			is.tokens, is.first = x.next.tokens+1, t.tokens[t.nodes[at].first]
		}
		if x = x.next; x.next == nil || x.label >= tokenLabel {
			return
		}
	}
}

// takeFirst returns the first label of a node's completion, and the node after it.
func (r *completions) takeFirst(n *node) (label int32, to *node, err error) {
	if known := n.first.Load(); known != nil && known.vocabulary == r.v {
		to, err = r.follow(known.from, known.label)
		return known.label, to, err
	}
	if err := r.work.spend(firstStepWork); err != nil {
		return 0, nil, err
	}
	l, err := r.g.findFirstSymbols(n)
	if err != nil {
		return 0, nil, err
	}
	if label = r.chooseLabel(l); label < 0 {
		return 0, nil, ErrAmbiguous // to say how the text can be completed
	}
	if to, err = r.follow(l.from, label); err == nil && to == dead {
		err = ErrAmbiguous
	}
	if err == nil {
		n.first.Store(&firstStep{r.v, label, l.from})
	}
	return label, to, err
}

// chooseLabel picks the label that a completion begins with: a byte that is a token, if there is
// one. Below 0: none is known.
func (r *completions) chooseLabel(l firstSymbols) int32 {
	odd := int32(-1)
	for b, leads := range l.bytes {
		if leads && r.v.has(r.v.single[b]) {
			return int32(b)
		}
		if leads && odd < 0 {
			odd = int32(b)
		}
	}
	for t := range int32(len(r.v.pieces)) {
		if len(l.tokens) == 0 && len(l.others) == 0 {
			break
		}
		if r.v.isNamed[t] && (slices.Contains(l.tokens, t) || slices.ContainsFunc(l.others, func(other int32) bool { return other != t })) {
			return tokenLabel + t
		}
	}
	return odd
}

// firstStep is the first label of a node's completion, for a vocabulary.
type firstStep struct {
	vocabulary *Vocabulary
	label      int32
	from       *node // see firstSymbols
}

func (r *completions) follow(n *node, label int32) (*node, error) {
	if label >= tokenLabel {
		return r.g.stepToken(n, r.v, label-tokenLabel, &r.work)
	}
	return r.g.step(n, byte(label), &r.work)
}

// Forced returns the bytes that must come next: as far as there is one way to go on, and the text
// may not end. It returns at most most bytes, found within about steps.
func (g *Grammar) Forced(s State, most, steps int) (text []byte) {
	w := briefWork(steps)
	n := s.node
	if n != nil && g.hasShadow(n) { // the shadow allows more, so what it forces is forced here
		var err error
		if n, err = g.shadowOf(n, w); err != nil {
			return nil
		}
	}
	for n != nil && len(text) < most && !n.complete && !n.takesToken() {
		next, err := g.findOnlyStep(n, w)
		if err != nil {
			return text
		}
		if n = next.to; n != nil {
			text = append(text, next.by)
		}
	}
	return text
}

// onlyStep is the only step from a node.
type onlyStep struct {
	by byte
	to *node // nil: there are several
}

var several = &onlyStep{}

// findOnlyStep finds the only step from a node. It is kept, since the scheduler's tick asks at each
// token of an answer.
func (g *Grammar) findOnlyStep(n *node, w *work) (*onlyStep, error) {
	if known := n.only.Load(); known != nil {
		return known, nil
	}
	found := several
	for c := range 256 {
		to, err := g.step(n, byte(c), w)
		if err != nil {
			return several, err
		}
		if to == dead {
			continue
		}
		if found != several {
			found = several
			break
		}
		found = &onlyStep{byte(c), to}
	}
	n.only.Store(found)
	return found, nil
}

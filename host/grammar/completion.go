// SPDX-License-Identifier: MIT

package grammar

import (
	"bytes"
	"errors"
	"slices"
)

// Rest is how many tokens complete s at most, 0 where the text may end: as many as spell one of
// the shortest texts that do, always the same one. So there is a token after which Rest is one
// less.
//
// # Errors
//
//   - ErrUnspelled: no tokens spell that text.
//   - ErrAmbiguous, lexeme.ErrTooMuch: to find it out takes more than a bounded amount of work.
func (g *Grammar) Rest(s State, v *Vocabulary) (int, error) {
	if s.node == nil {
		return never, ErrUnspelled
	}
	r := newCompletions(g, v)
	n, err := r.of(s.node)
	if errors.Is(err, ErrAmbiguous) && v.spells {
		return g.Shortest(s)
	}
	if err == nil && n.tokens == never {
		return never, ErrUnspelled
	}
	return n.tokens, err
}

// Completes reports whether so many tokens complete s. It costs little where there are as many as
// bytes are missing.
//
// # Errors
//
//   - as those of Rest, but for ErrUnspelled
func (g *Grammar) Completes(s State, v *Vocabulary, tokens int) (bool, error) {
	if s.node == nil {
		return false, nil
	}
	r := newCompletions(g, v)
	return r.within(s.node, tokens)
}

// Ended reports whether the text may end and nothing may follow.
func (g *Grammar) Ended(s State) bool { return g.endsWithin(s, 0) }

// mostSpace bounds the states that are looked at behind a text's end: white space that indents once
// more has fifty.
const mostSpace = 128

// Over reports whether the text may end and nothing but white space may follow.
func (g *Grammar) Over(s State) bool { return g.endsWithin(s, mostSpace) }

// endsWithin reports whether the text may end, and nothing may follow but white space that leads to
// fewer states than most.
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

// completions finds how many tokens complete nodes, in one operation.
type completions struct {
	g    *Grammar
	v    *Vocabulary
	work work
}

// completion is the text that is taken for the shortest that completes a node, from there on. It is
// kept with the node.
type completion struct {
	vocabulary *Vocabulary
	label      int32       // its first byte, or 256 + a token that comes for its number
	first      int32       // of the tokens that spell it
	tokens     int         // how many they are; never: none do
	next       *completion // nil: the text may end here
}

// named is the label of a token that comes for its number, less the token.
const named = 256

// farthest is the longest token that the text begins with that is taken for the shortest.
func (r *completions) farthest(n *node) (token int32, err error) {
	token = -1
	for at, i := -1, 0; i < r.v.all.depth && !n.complete; i++ {
		label, to, err := r.lead(n)
		if err != nil && token < 0 {
			return -1, err
		}
		if err == nil && label >= named && i == 0 {
			return label - named, nil
		}
		if err != nil || label >= named {
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

// leadWork is what it costs to look for a lead.
const leadWork = 16

func newCompletions(g *Grammar, v *Vocabulary) *completions {
	return &completions{g: g, v: v, work: work{left: maxWork}}
}

func (r *completions) within(n *node, tokens int) (bool, error) {
	bytes, err := r.g.Shortest(State{n})
	switch {
	case err != nil:
		return false, err
	case bytes == 0:
		return tokens >= 0, nil
	case bytes <= tokens && r.v.spells:
		return true, nil
	case n.blurs && tokens <= 0:
		return false, errUnsure
	case tokens <= 0 || len(r.g.uniques) == 0 && bytes/tokens > r.v.all.depth: // with unique texts, fewer bytes may do
		return false, nil
	}
	rest, err := r.of(n)
	return err == nil && rest.tokens <= tokens, err
}

// way is a text on the way to a completion. It leads through shadows, which other texts share, as
// long as it is sure that states themselves would lead on likewise.
type way struct {
	path  []stepped
	exact *node // a state itself that it comes by
	since int   // how much of the path lies behind that
}

type stepped struct {
	at *node
	is *completion
}

// of is the completion of a node. Where the node is a shadow, it may be errUnsure.
func (r *completions) of(n *node) (*completion, error) {
	if known := n.rest.Load(); known != nil && known.vocabulary == r.v {
		return known, nil
	}
	w := way{exact: n}
	after, err := r.end(&w)
	if err != nil {
		return &completion{tokens: never}, err
	}
	for i := len(w.path) - 1; i >= 0; i-- {
		at := w.path[i]
		at.is.next = after
		r.spell(at.is)
		if after = at.is; i >= w.since {
			at.at.rest.Store(after)
		}
	}
	n.rest.Store(after)
	return after, nil
}

// end leads a way to a node whose completion is known.
func (r *completions) end(w *way) (*completion, error) {
	at, err := r.shadow(w.exact)
	for err == nil {
		if known := at.rest.Load(); known != nil && known.vocabulary == r.v {
			return known, nil
		}
		if at.complete && !at.mayEnd {
			return &completion{vocabulary: r.v}, nil
		}
		if err := r.work.spend(1); err != nil {
			return nil, err
		}
		label, to, failed := r.lead(at)
		if errors.Is(failed, errUnsure) && !w.exact.shadow {
			at, err = r.catchUp(w)
			continue
		}
		if failed != nil {
			return nil, failed
		}
		w.path = append(w.path, stepped{at, &completion{vocabulary: r.v, label: label}})
		at = to
	}
	return nil, err
}

// catchUp has the state itself go the way so far, and returns its shadow.
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

// shadow is that of a node that has one, or the node.
func (r *completions) shadow(n *node) (*node, error) {
	if !r.g.hasShadow(n) {
		return n, nil
	}
	return r.g.shadowOf(n, &r.work)
}

// spell counts the tokens of a rest, from those of the rests after it.
func (r *completions) spell(is *completion) {
	is.tokens = never
	if is.label >= named {
		is.tokens, is.first = plus(is.next.tokens, 1), is.label-named
		return
	}
	t, at := &r.v.all, int(r.v.roots[byte(is.label)])
	for x := is; at >= 0; at = t.child(at, byte(x.label)) {
		if t.nodes[at].first < t.nodes[at+1].first && x.next.tokens < is.tokens-1 {
			is.tokens, is.first = x.next.tokens+1, t.tokens[t.nodes[at].first]
		}
		if x = x.next; x.next == nil || x.label >= named {
			return
		}
	}
}

// lead is how the text that is taken for the shortest begins: with a byte that is a token, if
// there is one.
func (r *completions) lead(n *node) (label int32, to *node, err error) {
	if known := n.lead.Load(); known != nil && known.vocabulary == r.v {
		to, err = r.follow(known.from, known.label)
		return known.label, to, err
	}
	if err := r.work.spend(leadWork); err != nil {
		return 0, nil, err
	}
	l, err := r.g.leads(n)
	if err != nil {
		return 0, nil, err
	}
	if label = r.choose(l); label < 0 {
		return 0, nil, ErrAmbiguous // to say how the text can be completed
	}
	if to, err = r.follow(l.from, label); err == nil && to == dead {
		err = ErrAmbiguous
	}
	if err == nil {
		n.lead.Store(&lead{r.v, label, l.from})
	}
	return label, to, err
}

// choose is the label that a rest is taken to begin with, below 0 where none is known.
func (r *completions) choose(l leads) int32 {
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
			return named + t
		}
	}
	return odd
}

// lead is the label of a node's rest, for a vocabulary.
type lead struct {
	vocabulary *Vocabulary
	label      int32
	from       *node // see leads
}

func (r *completions) follow(n *node, label int32) (*node, error) {
	if label >= named {
		return r.g.token(n, r.v, label-named, &r.work)
	}
	return r.g.step(n, byte(label), &r.work)
}

// Forced is the bytes that must come next: as far as there is one way to go on, and the text may
// not end. There are at most so many, and no more than are found within about so many steps.
func (g *Grammar) Forced(s State, most, steps int) (text []byte) {
	w := briefly(steps)
	n := s.node
	if n != nil && g.hasShadow(n) { // what must come there must come here
		var err error
		if n, err = g.shadowOf(n, w); err != nil {
			return nil
		}
	}
	for n != nil && len(text) < most && !n.complete && !n.takesToken() {
		next, err := g.only(n, w)
		if err != nil {
			return text
		}
		if n = next.to; n != nil {
			text = append(text, next.by)
		}
	}
	return text
}

// sole is the only step from a node.
type sole struct {
	by byte
	to *node // nil: there are several
}

var several = &sole{}

// only is the only step from a node. It is looked for once: the tick asks at each token of an
// answer.
func (g *Grammar) only(n *node, w *work) (*sole, error) {
	if known := n.sole.Load(); known != nil {
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
		found = &sole{byte(c), to}
	}
	n.sole.Store(found)
	return found, nil
}

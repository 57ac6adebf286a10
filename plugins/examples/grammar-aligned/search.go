// SPDX-License-Identifier: MIT

package main

import (
	"math"

	"github.com/penstock/penstock/plugins/examples/internal/fitting"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// node is what is known of the texts that begin alike.
type node struct {
	known  bool    // it had its row
	mass   float64 // how likely a token comes next that the grammar allows
	future float64 // how likely the text goes on within the grammar to its end: at most so, as far as is known
	next   []edge  // what was drawn here
}

type edge struct {
	token penstock.Token
	p     float64 // of the token, by the model
	to    *node
}

// learn computes future anew: all of the mass is thought to come to a good end, but for what is
// known to be lost behind tokens that were drawn.
func (n *node) learn() {
	n.future = n.mass
	for _, e := range n.next {
		n.future -= e.p * (1 - e.to.future)
	}
	n.future = max(0, n.future)
}

// walk is a text that is drawn.
type walk struct {
	*penstock.Branch
	path   []*node // that it has come through, the root first
	tokens []penstock.Token
	passed int // edges of the last node that it has decided against
	over   bool
}

func (w *walk) node() *node { return w.path[len(w.path)-1] }

// search has what all walks have in common.
type search struct {
	*penstock.Run
	root        *node
	plain       *penstock.Chain // the model's own distribution
	start, most int             // tokens of the prompt, and of a text
	used        int             // tokens in branches
	others, one *penstock.Mask
	texts, cut  [][]penstock.Token // those that came to their end, with it, and those that are as long as they may be
}

func (s *search) begin(w *walk) {
	w.Cut(s.start)
	s.used++ // the row is computed once more
	w.path, w.tokens, w.passed, w.over = append(w.path[:0], s.root), nil, 0, false
}

// descend goes on by tokens that were drawn before, for which no row is needed.
func (s *search) descend(w *walk) {
	for !w.over && w.node().known && s.choose(w) {
	}
}

// choose decides between the tokens that were drawn at a node, by their probability and their
// future, and all others. It returns whether it goes on by one of the first, or is lost.
func (s *search) choose(w *walk) bool {
	n := w.node()
	rest := n.mass
	for _, e := range n.next {
		rest -= e.p
	}
	if rest < 1e-6*n.mass { // it is what rounding left
		rest = 0
	}
	total := rest
	for _, e := range n.next[w.passed:] {
		total += e.p * e.to.future
	}
	if total <= 0 {
		s.end(w)
		return true
	}
	u := float64(penstock.Uniform())*total - rest
	if u < 0 {
		w.passed = len(n.next)
		return false
	}
	last := 0
	for i, e := range n.next[w.passed:] {
		if weight := e.p * e.to.future; weight > 0 {
			last = w.passed + i
			if u -= weight; u < 0 {
				break
			}
		}
	}
	e := n.next[last]
	w.Append(e.token)
	s.follow(w, e)
	return true
}

func (s *search) follow(w *walk, e edge) {
	s.used++
	w.path, w.tokens, w.passed = append(w.path, e.to), append(w.tokens, e.token), 0
}

// draw has the model draw a token that was not drawn at the node before. If others have drawn
// there since the walk decided for that, it decides anew between what they drew and the rest.
func (s *search) draw(w *walk) {
	n := w.node()
	if n.known && w.passed < len(n.next) && s.choose(w) {
		return
	}
	allowed := float64(w.LogSum()) // in the row are only the tokens that fit
	if math.IsInf(allowed, -1) {
		n.known = true
		s.end(w)
		return
	}
	if n.known {
		s.others.AllowAll()
		for _, e := range n.next {
			s.others.Ban(e.token)
		}
		w.Mask(s.others)
	}
	t, logit, score := fitting.Draw(w.Branch, s.plain, s.one)
	if s.Err() != nil {
		return
	}
	if !n.known {
		n.known, n.mass = true, min(1, math.Exp(allowed-float64(logit)+float64(score)))
	}
	if s.Ends(t) {
		s.used++
		s.texts = append(s.texts, append(w.tokens, t))
		s.end(w)
		return
	}
	e := edge{t, math.Exp(float64(score)), &node{future: 1}}
	n.next = append(n.next, e)
	if s.follow(w, e); len(w.tokens) >= s.most {
		e.to.known = true // and nothing comes of it
		s.cut = append(s.cut, w.tokens)
		s.end(w)
	}
}

// end ends a walk, and learns from it.
func (s *search) end(w *walk) {
	w.over = true
	for i := len(w.path) - 1; i >= 0; i-- {
		w.path[i].learn()
	}
}

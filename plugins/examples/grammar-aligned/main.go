// SPDX-License-Identifier: MIT

// Command grammar-aligned is a plugin that owns its request: it draws texts that fit a grammar as
// often as the model would write them by itself, by ASAp (Park et al., Grammar-Aligned Decoding,
// 2024).
package main

import (
	"fmt"
	"math"

	"github.com/penstock/penstock/plugins/examples/internal/fitting"
	"github.com/penstock/penstock/plugins/sdk/go/grammar"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[aligned](penstock.Manifest{
	Name: "grammar-aligned", Version: "1.0.0", Summary: "draws texts that fit a grammar as often as the model writes them by itself",
	Branches: 16, BranchesConfig: "parallel",
	ConfigSchema: `{
		"title": "Grammar-aligned sampling",
		"type": "object",
		"additionalProperties": false,
		"oneOf": [{"required": ["grammar"]}, {"required": ["json_schema"]}],
		"properties": {
			"grammar": {"title": "Grammar", "type": "string", "minLength": 1, "maxLength": 262144, "description": "in llama.cpp's notation, GBNF"},
			"json_schema": {"title": "JSON schema", "type": ["object", "boolean"], "description": "in the place of a grammar"},
			"samples": {"title": "Samples", "type": "integer", "minimum": 1, "maximum": 1000, "default": 32, "description": "how many texts are drawn; each learns from those before, and the last are the answer"},
			"parallel": {"title": "At once", "type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "how many are drawn at once; each takes a slot"}
		}
	}`,
})

func main() {}

type aligned struct{ grammar *grammar.Grammar }

// Open implements penstock.Opener.
func (a *aligned) Open(q *penstock.Request) (err error) {
	a.grammar, err = fitting.Open(q.Config)
	return err
}

// Bounds of a request: how long a text is, and how many tokens a host lets a program put into each
// branch besides a prompt and an answer.
const (
	longest = 4096
	spare   = 256
)

// Run implements penstock.Runner.
func (a *aligned) Run(r *penstock.Run) error {
	root := r.Prompt()
	a.grammar.Branch(root)
	s := search{Run: r, root: &node{future: 1}, plain: r.Chain(`{"temperature": 1, "samplers": ["temperature"]}`),
		start: root.Len(), most: min(r.MaxTokens(), longest), others: penstock.NewMask(), one: penstock.NewMask()}
	samples, walks := max(r.Config().Get("samples").Int(), r.Choices()), make([]walk, r.Config().Get("parallel").Int())
	for i, b := range r.Select([]*penstock.Branch{root}, make([]int, len(walks))...) {
		walks[i] = walk{Branch: b, over: true}
	}
	allowed, begun := len(walks)*(s.most+spare), 0
	for r.Err() == nil {
		var alive []*walk
		for i := range walks {
			if !walks[i].over {
				alive = append(alive, &walks[i])
			}
		}
		for i := range walks {
			if w := &walks[i]; w.over && begun < samples && s.root.future > 0 && s.used+(len(alive)+1)*(s.most+1) <= allowed {
				s.begin(w)
				begun++
				alive = append(alive, w)
			}
		}
		if len(alive) == 0 {
			break
		}
		var waiting []*penstock.Branch
		for _, w := range alive {
			if s.descend(w); !w.over {
				waiting = append(waiting, w.Branch)
			}
		}
		if len(waiting) > 0 && !r.Wait(0, waiting...) {
			break
		}
		for _, w := range alive {
			if !w.over {
				s.draw(w)
			}
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	n, all := r.Choices(), append(s.cut, s.texts...) // those that are not complete only for want of others
	if len(all) < n {
		return fmt.Errorf("%d texts were drawn, and n is %d; raise samples or lower max_tokens, and see that the model has tokens for the grammar", len(all), n)
	}
	for choice, tokens := range all[len(all)-n:] {
		r.ShowChoice(choice, tokens, nil)
	}
	return penstock.Output(map[string]any{"samples": begun, "complete": len(s.texts), "grammatical": s.root.future})
}

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

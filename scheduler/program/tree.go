// SPDX-License-Identifier: MIT

package program

import (
	"math"
	"slices"
)

// Grown is what has become of a branch of a run that is traced, since the last time that it was
// told. No branch loses a token: one that is cut back is told as dropped, and goes on as another.
type Grown struct {
	Branch   int       // counts the branches that are told, from 1
	Parent   int       // in its first: the branch that it goes on from; 0: it was opened
	At       int       // in its first: where its own tokens begin. What is before is its parent's, or is not told
	First    bool      // whether this is its first
	Tokens   []Token   // that it has gained
	Logprobs []float32 // theirs, each the natural logarithm of what the model gave it; NaN: not known
	Score    *float64  // the sum of those of all its tokens since it was opened that are known; nil: as it was
	Dropped  bool      // it was closed, or cut back

	Chosen int // if not 0: so many of its first tokens are what was shown of a choice
	Choice int
}

// What is told of the branches of one run: what is beyond is counted only.
const (
	mostTold       = 4096
	mostToldTokens = 32_768
	openingTold    = 64 // tokens of a branch that was opened with others than the prompt
)

// tree notes the branches of a run that is traced. It is the program's while that is at work, else
// the tick's. A nil tree notes nothing.
type tree struct {
	prompt  []Token
	paths   []path // by number, from 1
	grown   []Grown
	tokens  int // told
	leftOut int
	choices map[int]*chosen
}

// path is what the tree knows of a branch that is told.
type path struct {
	parent, at int
	tokens     []Token // its own
	foreign    bool    // it was opened with others than the prompt
}

// told is what was told of a branch. It is empty where the run is not traced.
type told struct {
	path    int       // 0: nothing is told of it
	tokens  int       // so many of its first tokens were told, or are not to be
	base    int       // so many of them have no log-probability: the branch was opened with them
	logs    []float32 // of those after them; NaN: not known
	settled int       // none of the scores before this token will change
	score   float64   // as it was told
}

var unknown = float32(math.NaN())

// noteOpened notes a branch that has its first tokens.
func (t *tree) noteOpened(b *Branch) {
	if t == nil {
		return
	}
	n := len(b.tokens)
	foreign := !slices.Equal(b.tokens, t.prompt)
	if b.told = (told{tokens: n}); foreign {
		b.told.tokens = max(0, n-openingTold)
	}
	b.told.base, b.told.settled = b.told.tokens, b.told.tokens
	t.begin(b, 0)
	if b.told.path > 0 {
		t.paths[b.told.path-1].foreign = foreign
	}
	t.grow(b)
}

// begin gives a branch a number of its own, from where it was told.
func (t *tree) begin(b *Branch, parent int) {
	if b.told.path = 0; len(t.paths) >= mostTold {
		return
	}
	t.paths = append(t.paths, path{parent: parent, at: b.told.tokens})
	b.told.path = len(t.paths)
	t.grown = append(t.grown, Grown{Branch: b.told.path, Parent: parent, At: b.told.tokens, First: true})
	if len(b.told.logs) > 0 {
		b.told.score = b.told.sum()
		score := b.told.score
		t.last().Score = &score
	}
}

// noteFork notes a branch that begins with the tokens of another.
func (t *tree) noteFork(f, of *Branch) {
	if t == nil {
		return
	}
	t.grow(of)
	f.told = of.told
	f.told.logs = slices.Clone(of.told.logs)
	if of.told.path > 0 {
		t.begin(f, of.told.path)
	}
}

// noteAppended notes that tokens are about to be added to a branch: what the row says of the first
// of them.
func (t *tree) noteAppended(b *Branch, tokens []Token) {
	if t == nil || b.told.path == 0 || b.row == nil || tokens[0] < 0 {
		return
	}
	t.extend(b)
	if l := b.row.logprob(tokens[0], b.run.options.Summarizer); !Awaited(l) {
		b.told.logs = append(b.told.logs, l)
	}
}

// extend has a place for the log-probability of each token.
func (t *tree) extend(b *Branch) {
	for len(b.told.logs) < len(b.tokens)-b.told.base {
		b.told.logs = append(b.told.logs, unknown)
	}
}

// noteCut notes that a branch is about to be cut to n tokens.
func (t *tree) noteCut(b *Branch, n int) {
	if t == nil || b.told.path == 0 {
		return
	}
	t.noteClose(b)
	of := &b.told
	parent := of.path
	for t.paths[parent-1].parent > 0 && t.paths[parent-1].at >= n {
		parent = t.paths[parent-1].parent // none of its own tokens stay
	}
	of.tokens, of.settled, of.base = n, min(of.settled, n), min(of.base, n)
	of.logs = of.logs[:min(len(of.logs), n-of.base)]
	t.begin(b, parent)
}

// noteClose notes that a branch is about to be closed.
func (t *tree) noteClose(b *Branch) {
	if t == nil {
		return
	}
	if t.grow(b); b.told.path > 0 {
		t.entry(b.told.path).Dropped = true
	}
}

// grow notes what a branch has gained.
func (t *tree) grow(b *Branch) {
	of := &b.told
	if of.path == 0 {
		t.leftOut, of.tokens = t.leftOut+max(0, len(b.tokens)-of.tokens), len(b.tokens)
		return
	}
	t.extend(b)
	of.settle(b)
	gained := b.tokens[of.tokens:]
	if n := min(len(gained), mostToldTokens-t.tokens); n < len(gained) {
		t.leftOut += len(gained) - n
		if gained = gained[:n]; n == 0 {
			of.tokens = len(b.tokens)
			return
		}
	}
	if len(gained) > 0 {
		e, p := t.entry(of.path), &t.paths[of.path-1]
		logs := of.logs[of.tokens-of.base:]
		e.Tokens, e.Logprobs = append(e.Tokens, gained...), append(e.Logprobs, logs[:len(gained)]...)
		p.tokens = append(p.tokens, gained...)
		t.tokens += len(gained)
	}
	of.tokens = len(b.tokens)
	if score := of.sum(); score != of.score {
		of.score = score
		t.entry(of.path).Score = &score
	}
}

// settle takes the scores over that have become known.
func (of *told) settle(b *Branch) {
	of.settled = max(of.settled, of.base)
	for i := of.settled; i < min(len(b.scores), len(b.tokens)); i++ {
		if Awaited(b.scores[i]) {
			return
		}
		if l := &of.logs[i-of.base]; b.scores[i] == b.scores[i] {
			*l = b.scores[i]
		}
		of.settled = i + 1
	}
}

// sum is the sum of the log-probabilities that are known.
func (of *told) sum() (sum float64) {
	for _, l := range of.logs {
		if l == l {
			sum += float64(l)
		}
	}
	return sum
}

// entry is where what becomes of a branch is noted: its last entry that nobody was told yet.
func (t *tree) entry(path int) *Grown {
	for i := len(t.grown) - 1; i >= 0; i-- {
		if e := &t.grown[i]; e.Branch == path && e.Chosen == 0 {
			return e
		}
	}
	t.grown = append(t.grown, Grown{Branch: path})
	return t.last()
}

func (t *tree) last() *Grown { return &t.grown[len(t.grown)-1] }

// collect notes what the branches have gained, and which of them has what was shown.
func (t *tree) collect(branches []*Branch, shown []Shown) {
	if t == nil {
		return
	}
	for _, b := range branches {
		if b != nil {
			t.grow(b)
		}
	}
	if len(shown) == 0 {
		return
	}
	if t.choices == nil {
		t.choices = map[int]*chosen{}
	}
	last := 0
	for _, s := range shown {
		c := t.choices[s.Choice]
		if c == nil {
			c = &chosen{}
			t.choices[s.Choice] = c
		}
		c.shown, last = append(c.shown, s.Token), max(last, s.Choice)
	}
	for choice := range last + 1 {
		if c := t.choices[choice]; c != nil {
			t.choose(choice, c)
		}
	}
}

// chosen is what was shown of a choice.
type chosen struct {
	shown []Token
	told  Grown // the last that was told
}

// choose notes which branch begins with most of what was shown of a choice after the prompt.
func (t *tree) choose(choice int, c *chosen) {
	best, has := 0, make([]int, len(t.paths)+1) // by branch: so many of the tokens that were shown
	for i, p := range t.paths {
		number, start := i+1, p.at-len(t.prompt)
		switch {
		case p.foreign:
			continue
		case p.parent > 0 && has[p.parent] < start || start < 0:
			has[number] = has[p.parent]
			continue // it leaves what was shown before its own tokens begin
		}
		has[number] = start + common(p.tokens, c.shown[min(start, len(c.shown)):])
		if has[number] > has[best] {
			best = number
		}
	}
	if chosen := (Grown{Branch: best, Chosen: len(t.prompt) + has[best], Choice: choice}); best > 0 && (c.told.Branch != best || c.told.Chosen != chosen.Chosen) {
		c.told = chosen
		t.grown = append(t.grown, chosen)
	}
}

// common is how many of the first tokens two lists have in common.
func common(a, b []Token) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Grown is how many entries TakeGrown has. It is 0 while the program is at work, or where the run
// is not traced.
func (r *Run) Grown() int {
	if r.tree == nil || r.atWork {
		return 0
	}
	return len(r.tree.grown)
}

// TakeGrown tells what has become of the branches since the last time, up to that many entries and
// tokens; there may be more. Grown is asked before.
func (r *Run) TakeGrown(entries, tokens int) (grown []Grown) {
	t, n := r.tree, 0
	for n < len(t.grown) && n < entries && (n == 0 || tokens >= len(t.grown[n].Tokens)) {
		tokens -= len(t.grown[n].Tokens)
		n++
	}
	grown, t.grown = t.grown[:n:n], slices.Clone(t.grown[n:])
	if first := &grown[0]; tokens < 0 { // it alone is too much
		rest := Grown{Branch: first.Branch, Tokens: first.Tokens[len(first.Tokens)+tokens:], Logprobs: first.Logprobs[len(first.Tokens)+tokens:],
			Score: first.Score, Dropped: first.Dropped}
		first.Tokens, first.Logprobs, first.Score, first.Dropped = first.Tokens[:len(first.Tokens)+tokens], first.Logprobs[:len(first.Tokens)+tokens], nil, false
		t.grown = slices.Insert(t.grown, 0, rest)
	}
	return grown
}

// LeftOut is how many tokens of branches are not told, as there are more than are.
func (r *Run) LeftOut() int {
	if r.tree == nil || r.atWork {
		return 0
	}
	return r.tree.leftOut
}

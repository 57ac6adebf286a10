// SPDX-License-Identifier: MIT

package grammar

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/steadytest"
)

// reference tells from the bodies which parts of a text fit a rule: it tries all, until nothing new
// is found.
type reference struct {
	t       *testing.T
	b       *Builder
	text    string
	fits    map[[3]int]bool // rule, from, to
	changed bool
	matched map[string]bool  // by lexeme and text
	memo    map[[2]int][]int // by body and from, in this turn
}

func (r *reference) whole(root Rule) bool {
	for r.changed = true; r.changed; {
		r.changed, r.memo = false, map[[2]int][]int{}
		for rule, is := range r.b.rules {
			for from := range len(r.text) + 1 {
				for _, to := range r.ends(is, from) {
					if key := [3]int{rule, from, to}; !r.fits[key] {
						r.fits[key], r.changed = true, true
					}
				}
			}
		}
	}
	return r.fits[[3]int{int(root), 0, len(r.text)}]
}

func (r *reference) match(x lexeme.Expr, text string) bool {
	key := fmt.Sprint(x, " ", text)
	fits, known := r.matched[key]
	if !known {
		ok, err := r.b.Lexemes.Match(x, text)
		if err != nil {
			r.t.Fatal(err)
		}
		fits = ok && utf8.ValidString(text)
		r.matched[key] = fits
	}
	return fits
}

// ends is where a body that begins at from can end, as far as it is known.
func (r *reference) ends(i Body, from int) []int {
	key := [2]int{int(i), from}
	ends, known := r.memo[key]
	if !known {
		ends = r.search(i, from)
		r.memo[key] = ends
	}
	return ends
}

func (r *reference) search(i Body, from int) (ends []int) {
	n := &r.b.bodies[i]
	for to := from; to <= len(r.text); to++ {
		ok := false
		switch n.kind {
		case isCall:
			ok = r.fits[[3]int{int(n.arg), from, to}]
		case isLexeme:
			ok = r.match(r.b.lexemes[n.arg].is, r.text[from:to])
		}
		if ok {
			ends = append(ends, to)
		}
	}
	switch n.kind {
	case isSeq:
		ends = []int{from}
		for _, p := range n.parts {
			ends = r.then(ends, p)
		}
	case isAlt:
		for _, p := range n.parts {
			ends = append(ends, r.ends(p, from)...)
		}
	case isStar, isPlus:
		open := []int{from}
		if n.kind == isPlus {
			open = r.ends(n.parts[0], from)
		}
		for len(open) > 0 {
			at := open[0]
			if open = open[1:]; !slices.Contains(ends, at) {
				ends = append(ends, at)
				open = append(open, r.ends(n.parts[0], at)...)
			}
		}
	case isLoop:
		return r.loop(n, from)
	}
	return ends
}

func (r *reference) then(starts []int, p Body) (ends []int) {
	for _, at := range starts {
		for _, to := range r.ends(p, at) {
			if !slices.Contains(ends, to) {
				ends = append(ends, to)
			}
		}
	}
	return ends
}

type loopSpot struct {
	at, bits, count int
	seen            string // the unique texts that came, each with its set
}

// afterUnique is where an item's unique text can end, and what has been seen then.
func (r *reference) afterUnique(u *Unique, starts []int, s loopSpot) (spots []loopSpot) {
	for _, at := range r.then(starts, u.Before) {
		for to := at; to <= len(r.text); to++ {
			text := r.text[at:to]
			if u.Decoder == lexeme.JSONString {
				if json.Unmarshal([]byte(`"`+text+`"`), &text) != nil || !utf8.ValidString(r.text[at:to]) {
					continue
				}
			}
			entry := fmt.Sprintf("%d%q;", u.Set, text)
			if r.match(u.Text, text) && !strings.Contains(s.seen, entry) {
				if strings.Count(s.seen, ";") == r.b.mostUnique {
					entry = ""
				}
				spots = append(spots, loopSpot{at: to, seen: s.seen + entry})
			}
		}
	}
	return spots
}

func (r *reference) loop(n *body, from int) (ends []int) {
	l := &r.b.loops[n.arg]
	seen := map[loopSpot]bool{}
	open := []loopSpot{{at: from}}
	for first := true; len(open) > 0; first = false {
		s := open[0]
		if open = open[1:]; seen[s] || s.count > 30 {
			continue
		}
		seen[s] = true
		if holds(l, s) && !slices.Contains(ends, s.at) {
			ends = append(ends, s.at)
		}
		starts := []int{s.at}
		if !first {
			starts = r.then(starts, n.parts[0])
		}
		for _, item := range l.Items {
			bit := 0
			if item.Bit >= 0 {
				bit = 1 << item.Bit
			}
			if item.Once && s.bits&bit != 0 || item.Late && !inTime(l, s) {
				continue
			}
			if item.Unique != nil {
				for _, u := range r.afterUnique(item.Unique, starts, s) {
					for _, to := range r.then([]int{u.at}, item.Is) {
						open = append(open, loopSpot{to, s.bits | bit, s.count + item.Count, u.seen})
					}
				}
				continue
			}
			for _, to := range r.then(starts, item.Is) {
				open = append(open, loopSpot{to, s.bits | bit, s.count + item.Count, s.seen})
			}
		}
		if first {
			delete(seen, s) // what comes back there wants a separator
		}
	}
	return ends
}

// inTime reports whether all has come that comes before late items.
func inTime(l *Loop, s loopSpot) bool {
	for _, bit := range l.Ends[0].Must {
		early := !slices.ContainsFunc(l.Items, func(item Item) bool { return item.Late && item.Bit == bit })
		for _, c := range l.Ends {
			early = early && slices.Contains(c.Must, bit)
		}
		if early && s.bits>>bit&1 == 0 {
			return false
		}
	}
	return true
}

func holds(l *Loop, s loopSpot) bool {
	for _, c := range l.Ends {
		ok := s.count >= c.Min && (c.Max < 0 || s.count <= c.Max)
		for _, bit := range c.Must {
			ok = ok && s.bits>>bit&1 == 1
		}
		for _, bit := range c.MustNot {
			ok = ok && s.bits>>bit&1 == 0
		}
		if ok {
			return true
		}
	}
	return false
}

// The texts of random grammars are those that a plain search through their bodies finds, also where
// rules begin with themselves and where loops have items that may be empty.
func TestGrammar_Advance_AgainstSearch(t *testing.T) {
	rng := steadytest.Rand(t)
	fit, built := 0, 0
	for i := range steadytest.InLongTest(600, 150) {
		seed := rng.Uint64()
		b, read := NewBuilder(), NewBuilder() // a grammar has its arena to itself
		root := randomGrammar(b, rand.New(rand.NewPCG(seed, 0)))
		randomGrammar(read, rand.New(rand.NewPCG(seed, 0)))
		g, err := b.Build(root)
		if err != nil {
			continue
		}
		built++
		matched := map[string]bool{}
		for range 12 {
			text := ""
			letters := []string{"a", "b", ",", "é", "\"", "0", "a", "\\u0061"}
			for range rng.IntN(6) {
				text += letters[rng.IntN(len(letters))]
			}
			s, ok, err := g.Advance(g.Start(), []byte(text))
			if err != nil {
				continue
			}
			want := (&reference{t: t, b: read, matched: matched, text: text, fits: map[[3]int]bool{}}).whole(root)
			if got := ok && g.Complete(s); got != want {
				t.Fatalf("grammar %d: %q fits: %v, a search finds %v", i, text, got, want)
			}
			fit += b2i(want)
		}
	}
	t.Logf("%d grammars, %d texts that fit", built, fit)
	if fit < steadytest.InLongTest(100, 1) {
		t.Errorf("only %d texts fit", fit)
	}
}

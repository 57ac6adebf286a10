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
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// randomGrammar has a few rules that call one another, also at their beginnings, with loops of all
// kinds.
func randomGrammar(b *Builder, r *rand.Rand) Rule {
	b.mostUnique = 1 + r.IntN(3)
	rules := make([]Rule, 1+r.IntN(4))
	for i := range rules {
		rules[i] = b.Rule()
	}
	for _, rule := range rules {
		b.Define(rule, randomBody(b, r, rules, 2+r.IntN(2)))
	}
	return rules[0]
}

func randomBody(b *Builder, r *rand.Rand, rules []Rule, depth int) Body {
	if depth == 0 {
		switch r.IntN(8) {
		case 0:
			return b.Call(rules[r.IntN(len(rules))])
		case 1:
			return b.Token(int32(r.IntN(40)), r.IntN(3) == 0)
		}
		return randomLexeme(b, r)
	}
	parts := make([]Body, 1+r.IntN(3))
	for i := range parts {
		parts[i] = randomBody(b, r, rules, depth-1)
	}
	switch r.IntN(6) {
	case 0:
		return b.Alt(parts...)
	case 1:
		low := r.IntN(3)
		return b.Repeat(parts[0], low, low+r.IntN(4)-1+b2i(low == 0))
	case 2:
		return b.Repeat(parts[0], r.IntN(3), -1)
	case 3:
		return randomLoop(b, r, parts)
	case 4:
		return b.Call(rules[r.IntN(len(rules))])
	}
	return b.Seq(parts...)
}

func b2i(v bool) int {
	if v {
		return 1
	}
	return 0
}

func randomLoop(b *Builder, r *rand.Rand, parts []Body) Body {
	l := Loop{}
	unique := r.IntN(2) == 0
	if r.IntN(2) == 0 {
		l.Separator = randomLexeme(b, r)
	}
	for _, p := range parts {
		l.Items = append(l.Items, Item{Is: p, Bit: r.IntN(4) - 1, Once: r.IntN(2) == 0, Count: r.IntN(2), Late: r.IntN(3) == 0})
		if unique && r.IntN(2) == 0 {
			l.Items[len(l.Items)-1].Unique = randomUnique(b, r)
		}
	}
	for range r.IntN(3) {
		c := Condition{Min: r.IntN(3)}
		if c.Max = -1; r.IntN(2) == 0 {
			c.Max = c.Min + r.IntN(3)
		}
		for bit := range 3 {
			switch r.IntN(4) {
			case 0:
				c.Must = append(c.Must, bit)
			case 1:
				c.MustNot = append(c.MustNot, bit)
			}
		}
		l.Ends = append(l.Ends, c)
	}
	return b.Loop(l)
}

// randomUnique has more than three texts, of which some are all that begin so, and some have more
// than one spelling.
func randomUnique(b *Builder, r *rand.Rand) *Unique {
	all := []string{"[ab]+", "[ab]{2}", "[^b\"]*", "[0-9]|[ab0]{3}", "a|[ab]b*", "(a|é)b?|,"}
	u := &Unique{Text: exprOf(b, all[r.IntN(len(all))]), Decoder: lexeme.Decoder(r.IntN(2)), Set: r.IntN(2)}
	if u.Before = re(b, ","); b.Lexemes.Nullable(u.Text) || r.IntN(2) == 0 {
		u.Before = re(b, "\"|a")
	}
	return u
}

func randomLexeme(b *Builder, r *rand.Rand) Body {
	all := []string{"a", "b", "ab", "a*", "[ab]+", "(ab|ba)*", "é?", "[^b]*", ",", "a{2,4}", "(a|é)b?", "[0-9]+", "[^\"\\\\\x01-\x1f]*\"", "\"[a-z]*\""}
	return re(b, all[r.IntN(len(all))])
}

// randomVocabulary has 200 tokens, of which some have the same text and one ends an answer.
func randomVocabulary(r *rand.Rand) *Vocabulary {
	pieces := make([][]byte, 200)
	letters := []string{"a", "b", ",", "é", "\xc3", "\xa9", "\"", "0", " ", "x", "1", "\n", "€"}
	for i := range pieces {
		for range 1 + r.IntN(5) {
			pieces[i] = append(pieces[i], letters[r.IntN(len(letters))]...)
		}
		if i < 3 {
			pieces[i] = []byte(letters[i])
		}
	}
	pieces[37] = nil
	return NewVocabulary(pieces, []int32{30, 30, -1}, []int32{31, 32, 500})
}

// A mask has the tokens that may come, and no other; a state can always end, in as many bytes as
// Shortest tells.
func TestGrammar_Mask_IsWhatTokenTakes(t *testing.T) {
	r := steadytest.Rand(t)
	walked := 0
	for i := range steadytest.InLongTest(120, 40) {
		b := NewBuilder()
		g, err := b.Build(randomGrammar(b, r))
		if err != nil {
			continue
		}
		if i%3 == 0 {
			g.maxStateBytes = 1 << 12 // states are forgotten all the time
		}
		walked += checkMasks(t, g, randomVocabulary(r), r, fmt.Sprint("grammar ", i))
	}
	if walked < steadytest.InLongTest(50, 1) {
		t.Errorf("only %d tokens were walked", walked)
	}
}

// checkMasks walks at random and tries every token at every state. It returns how many tokens it
// has come.
func checkMasks(t *testing.T, g *Grammar, v *Vocabulary, r *rand.Rand, where string) int {
	t.Helper()
	s := g.Start()
	mask := make([]uint32, v.Words())
	for step := range 12 {
		if err := g.Mask(s, v, mask); err != nil {
			return step // too ambiguous
		}
		var next []State
		for token := range int32(v.Len()) {
			to, ok, err := g.Token(s, v, token)
			if err != nil {
				return step // what may follow a named token is too ambiguous
			}
			if in := mask[token/32]>>(token%32)&1 == 1; in != ok {
				t.Fatalf("%s, after %d tokens, token %d %q: in the mask %v, taken %v", where, step, token, v.pieces[token], in, ok)
			}
			if ok && !v.isEnd[token] {
				next = append(next, to)
			}
		}
		if step%4 == 0 {
			checkShortest(t, g, s, where)
		}
		if len(next) == 0 {
			return step
		}
		s = next[r.IntN(len(next))]
	}
	return 12
}

// checkShortest follows the shortest rest by bytes and named tokens: each step must be one byte
// nearer to the end, or, with unique texts, at least one.
func checkShortest(t *testing.T, g *Grammar, s State, where string) {
	t.Helper()
	for left := shortestOf(t, g, s); left > 0; {
		if left >= never {
			t.Fatalf("%s: a state that cannot end", where)
		}
		found := false
		least := never
		for c := range 256 {
			to, ok, err := g.Advance(s, []byte{byte(c)})
			if err != nil {
				return // too ambiguous
			}
			if !ok {
				continue
			}
			n := shortestOf(t, g, to)
			least = min(least, n)
			if n == left-1 || len(g.uniques) > 0 && n < left {
				s, found, left = to, true, n
				break
			}
		}
		if !found && !s.node.takesToken() {
			t.Fatalf("%s: %d bytes are said to be left, but the least after a byte is %d", where, left, least)
		}
		if !found {
			return
		}
	}
	if !s.node.takesToken() && shortestOf(t, g, s) != 0 {
		t.Fatalf("%s: %d bytes left", where, shortestOf(t, g, s))
	}
}

func shortestOf(t *testing.T, g *Grammar, s State) int {
	t.Helper()
	return must.Get(g.Shortest(s))(t)
}

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
		ok := must.Get(r.b.Lexemes.Match(x, text))(r.t)
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

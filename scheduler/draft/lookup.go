// SPDX-License-Identifier: MIT

package draft

// Lookup is a Drafter that needs no model: prompt lookup decoding (Saxena, 2023). It finds where
// the last tokens of a context have occurred before, and guesses that what followed them there
// follows again. Text that is edited, summarised or quoted is full of such places.
//
// Each slot has an index of all places by the tokens before them, the hash chains of LZ77
// compressors: a table from the hash of a few tokens to the last place where they stood, and for
// each place the one before it with the same hash. A token costs a few steps, whatever the length
// of the context, and 16 bytes.
type Lookup struct {
	least   int // tokens that must be the same
	indexes []index
}

const (
	settled      = 16
	longestMatch = 32 // tokens compared; more tell nothing
	mostPlaces   = 16 // compared for one draft
)

// gradeFrom is how many tokens are the same in drafts of each grade, at least.
var gradeFrom = [Grades]int{0, 4, 8, 16}

// NewLookup makes a Lookup that guesses once at least `least` tokens have come again.
func NewLookup(least int) *Lookup { return &Lookup{least: max(least, 1)} }

// Draft implements Drafter.
func (l *Lookup) Draft(asks []*Ask) {
	for _, a := range asks {
		for a.Slot >= len(l.indexes) {
			l.indexes = append(l.indexes, index{least: l.least})
		}
		x := &l.indexes[a.Slot]
		x.update(a)
		a.Draft = a.Draft[:0]
		at, same := x.find()
		if at == 0 {
			continue
		}
		for a.Grade = Grades - 1; same < gradeFrom[a.Grade]; {
			a.Grade--
		}
		a.Draft = x.continuation(at, a.Most, a.Draft)
	}
}

// index knows the places in one context. A place is the number of tokens before it.
type index struct {
	least   int // tokens that are hashed
	request uint64
	tokens  []Token // the context
	last    []int32 // by hash: the last place; 0: none
	before  []int32 // by place: the one before it with the same hash; 0: none
}

// update makes the index that of a context. What has changed since the last time is at the end:
// before as many tokens as are settled that are the same, all are.
func (x *index) update(a *Ask) {
	n := min(len(x.tokens), len(a.Context))
	if a.Request != x.request {
		n = 0
	}
	for i, same := n, 0; i > 0 && same < settled; i-- {
		if same++; x.tokens[i-1] != a.Context[i-1] {
			same, n = 0, i-1
		}
	}
	x.request = a.Request
	x.forgetFrom(n)
	for _, t := range a.Context[n:] {
		x.add()
		x.tokens = append(x.tokens, t)
	}
}

// forgetFrom forgets the places from n on, the last one first, so that those before them are the
// last again.
func (x *index) forgetFrom(n int) {
	if n == 0 {
		clear(x.last)
	}
	for at := len(x.tokens) - 1; at >= max(n, x.least) && n > 0; at-- {
		if h := x.hash(at); x.last[h] == int32(at) {
			x.last[h] = x.before[at]
		}
	}
	x.tokens, x.before = x.tokens[:n], x.before[:n]
}

// add makes the end of the context a place. The table grows with it: twice as large, it is filled
// anew.
func (x *index) add() {
	at := len(x.tokens)
	if at >= len(x.last) {
		x.last = make([]int32, max(1024, 2*len(x.last)))
		for i := x.least; i < at; i++ {
			x.link(i)
		}
	}
	if x.before = append(x.before, 0); at >= x.least {
		x.link(at)
	}
}

func (x *index) link(at int) {
	h := x.hash(at)
	x.before[at], x.last[h] = x.last[h], int32(at)
}

// hash hashes the tokens before a place. The table's size is a power of two.
func (x *index) hash(at int) int {
	h := uint32(2166136261)
	for _, t := range x.tokens[at-x.least : at] {
		h = (h ^ uint32(t)) * 2654435761
		h ^= h >> 15
	}
	return int(h & uint32(len(x.last)-1))
}

// find gives the place before which the most tokens are the same as at the end of the context, the
// last of several, and how many those are; 0 if there is none.
func (x *index) find() (place, same int) {
	end := len(x.tokens)
	if end < x.least || len(x.last) == 0 {
		return 0, 0
	}
	at := int(x.last[x.hash(end)])
	for tries := 0; at > 0 && tries < mostPlaces && same < longestMatch; tries++ {
		n := 0
		for n < min(at, longestMatch) && x.tokens[at-1-n] == x.tokens[end-1-n] {
			n++
		}
		if n >= x.least && n > same {
			place, same = at, n
		}
		at = int(x.before[at])
	}
	return place, same
}

// continuation appends what follows a place, up to most tokens. At the end of the context it goes
// on with what it has given: the text repeats.
func (x *index) continuation(place, most int, to []Token) []Token {
	to = append(to, x.tokens[place:min(place+most, len(x.tokens))]...)
	for i := 0; len(to) < most; i++ {
		to = append(to, to[i])
	}
	return to
}

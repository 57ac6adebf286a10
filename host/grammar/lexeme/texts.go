// SPDX-License-Identifier: MIT

package lexeme

// Without is Start for the expression's texts but for some.
//
// # Errors
//   - Those of Start.
func (t *Automata) Without(x Expr, texts []string, d Decoder) (State, error) {
	if x >= t.arena.base {
		return t.Start(x, d) // which says what is wrong
	}
	s := Dead
	err := t.work(func() {
		some := make([]Expr, len(texts))
		for i, text := range texts {
			some[i] = t.arena.Text(text)
		}
		if rest := t.arena.And(x, t.arena.Not(t.arena.Or(some...))); !t.arena.isVoid(rest, statesPerStep) {
			s = t.boundary(rest, d)
		}
	})
	return s, err
}

// stepsPerTexts bounds the work of Texts. A thousand texts of twenty characters take less.
const stepsPerTexts = 50_000

// Texts are x's texts where there are at most so many; all reports whether that is so. What it does
// counts as work of making the arena.
//
// # Errors
//   - ErrTooMuch: to find them takes more than a fixed amount of work.
func (a *Arena) Texts(x Expr, most int) (texts []string, all bool, err error) {
	err = a.Bounded(stepsPerTexts, func() { texts, all = a.texts(x, most) })
	return texts, all && err == nil, err
}

// begun is a text as far as it goes, and what may follow.
type begun struct {
	text string
	rest Expr
}

// texts goes on with all texts at once, a character at a time. What has no text is left out, so
// each that has begun is one more.
func (a *Arena) texts(x Expr, most int) ([]string, bool) {
	var texts []string
	level := []begun{{rest: x}}
	if a.isVoid(x, statesPerStep) {
		level = nil
	}
	for len(level) > 0 {
		var next []begun
		for _, b := range level {
			if a.Nullable(b.rest) {
				texts = append(texts, b.text)
			}
			d := a.derive(b.rest)
			if !a.spend(1+len(b.text)/16) || a.hasMany(d, most) {
				return nil, false
			}
			for i, c := range d.cuts {
				to, end := d.next[c.class], d.end(i)
				if to == Nothing || a.isVoid(to, statesPerStep) {
					continue
				}
				for r := c.from; r < end; r++ {
					if r < firstSurrogate || r > lastSurrogate {
						next = append(next, begun{b.text + string(r), to})
					}
				}
			}
			if a.err != nil || len(texts)+len(next) > most {
				return nil, false
			}
		}
		level = next
	}
	return texts, true
}

// end is where the part that begins with a cut ends.
func (d derivative) end(i int) rune {
	if i+1 < len(d.cuts) {
		return d.cuts[i+1].from
	}
	return maxRune + 1
}

// hasMany reports whether more than so many characters lead on, as far as one look shows.
func (a *Arena) hasMany(d derivative, most int) bool {
	const surrogates = lastSurrogate - firstSurrogate + 1
	for i, c := range d.cuts {
		if to := d.next[c.class]; int(d.end(i)-c.from) > most+surrogates && to != Nothing && !a.isVoid(to, statesPerStep) {
			return true
		}
	}
	return false
}

// maxPlenty is how many characters Plenty looks ahead.
const maxPlenty = 1024

// Plenty is a number of bytes within which at least so many of x's texts can be written, whatever
// the decoder; false where that is too hard to find, or there are not so many.
func (a *Arena) Plenty(x Expr, count int) (bytes int, ok bool) {
	_ = a.bounded(stepsPerCharacter, func() { bytes, ok = a.plenty(x, count) })
	return bytes, ok
}

func (a *Arena) plenty(x Expr, count int) (int, bool) {
	found := 0
	level := map[Expr]int{x: 1}
	for n := 0; n < maxPlenty && len(level) > 0; n++ {
		next := map[Expr]int{}
		for y, ways := range level {
			if a.Nullable(y) {
				found += ways
			}
			d := a.derive(y)
			for _, r := range plainRanges[PlainASCII] {
				parts := targets(d, r.Low, r.High-r.Low+1)
				for i, part := range parts {
					end := r.High - r.Low + 1
					if i+1 < len(parts) {
						end = parts[i+1].from
					}
					if part.to != Nothing && a.spend(1) {
						next[part.to] = min(count, next[part.to]+ways*int(end-part.from))
					}
				}
			}
			if a.err != nil || len(next) > roomStates {
				return 0, false
			}
		}
		if found >= count {
			return n, true
		}
		level = next
	}
	return 0, false
}

// Ample is a number of bytes within which more than so many of x's texts can be written, whatever
// the decoder, and whatever one of them has begun with; 0 where that is not so, or takes more than
// a look at the expression. It is so where all is allowed but for some texts.
func (a *Arena) Ample(x Expr, count int) (bytes int) {
	_ = a.bounded(stepsPerTexts, func() { bytes = a.ample(x, count) })
	return bytes
}

func (a *Arena) ample(x Expr, count int) int {
	parts := []Expr{x}
	if a.at(x).kind == intersection {
		parts = a.parts(x)
	}
	all := All
	more := int64(count)
	for _, p := range parts {
		switch n := *a.at(p); {
		case n.kind == complement:
			more += int64(a.atMost(Expr(n.a)))
		case n.kind == repetition && n.max == far && a.at(Expr(n.a)).kind == class && all == All:
			all = p
		default:
			return 0
		}
	}
	of, low, _ := a.counted(all)
	characters := int64(0)
	for _, r := range Intersect(plainRanges[PlainASCII], a.rangesOf(of)) {
		characters += int64(r.High - r.Low + 1)
	}
	if characters < 2 || more >= far || a.err != nil {
		return 0
	}
	bytes := int(low)
	for texts := int64(1); texts <= more; texts *= characters {
		bytes++
	}
	return bytes
}

// atMost is a number of texts that x has no more than; far: there may be any number of them.
func (a *Arena) atMost(x Expr) int32 {
	n := *a.at(x)
	if n.most >= far || !a.spend(1) {
		return far
	}
	switch n.kind {
	case void:
		return 0
	case empty:
		return 1
	case class:
		count := int32(0)
		for _, r := range a.rangesOf(x) {
			count += r.High - r.Low + 1
		}
		return count
	case sequence:
		return times(a.atMost(Expr(n.a)), a.atMost(Expr(n.b)))
	case union:
		count := int32(0)
		for _, p := range a.parts(x) {
			count = plus(count, a.atMost(p))
		}
		return count
	case repetition:
		if n.min == n.max && n.max < 8 {
			count := int32(1)
			for range n.max {
				count = times(count, a.atMost(Expr(n.a)))
			}
			return count
		}
	}
	return far
}

// Plain is a class of characters that every decoder spells as they are.
type Plain uint8

// The classes of plain characters.
const (
	PlainDigits  Plain = iota // 0 to 9
	PlainLetters              // A to Z, a to z
	PlainASCII                // from the space to ~, but for " and \
	PlainAny                  // from the space on, but for DEL, " and \

	plains
)

var plainRanges = [plains][]Range{
	PlainDigits:  {{'0', '9'}},
	PlainLetters: {{'A', 'Z'}, {'a', 'z'}},
	PlainASCII:   {{' ', '!'}, {'#', '['}, {']', '~'}},
	PlainAny:     {{' ', '!'}, {'#', '['}, {']', '~'}, {0x80, maxRune}},
}

// Has reports whether a class has a character.
func (p Plain) Has(r rune) bool {
	for _, all := range plainRanges[p] {
		if r >= all.Low && r <= all.High {
			return true
		}
	}
	return false
}

const (
	// MaxRoom is the most that Room tells.
	MaxRoom = 64

	roomStates = 256 // that Room looks at
)

type roomKey struct {
	of    Expr
	plain Plain
}

// Room is a number of characters: each text of at most so many characters of a class may follow a
// state, that is, leads to a live one. It may be less than it could be, and is at most MaxRoom. It
// costs little, and less where it has been asked for before.
func (t *Automata) Room(s State, plain Plain) int {
	is := t.info(s)
	if s == Dead || is.form != between {
		return 0
	}
	x := Expr(is.what)
	if n, known := t.rooms[roomKey{x, plain}]; known {
		return int(n)
	}
	n := int32(0)
	if t.work(func() { n = t.room(x, plain) }) != nil && (n == 0 || t.most < stepsPerByte) {
		return int(n) // it may be more where there are more steps
	}
	t.rooms[roomKey{x, plain}] = n
	return int(n)
}

// room goes on with all characters of a class at once, until one leads nowhere or only known
// states come.
func (t *Automata) room(x Expr, plain Plain) int32 {
	if n := t.surely(x, plain); n > 0 {
		return n
	}
	seen := map[Expr]bool{x: true}
	level := []Expr{x}
	for n := int32(0); n < MaxRoom && len(level) > 0; n++ {
		var next []Expr
		for _, y := range level {
			d := t.next(y)
			for _, r := range plainRanges[plain] {
				for _, part := range targets(d, r.Low, r.High-r.Low+1) {
					if part.to == Nothing || t.arena.err != nil {
						return n
					}
					if !seen[part.to] {
						seen[part.to] = true
						next = append(next, part.to)
					}
				}
			}
		}
		if len(seen) > roomStates {
			return n + 1
		}
		level = next
	}
	return MaxRoom
}

// surely is the room of what begins with a number of characters of a wider class, or is all but
// texts that are bounded in their length: it goes on behind every text. 0: it is neither.
func (t *Automata) surely(x Expr, plain Plain) int32 {
	switch n := t.arena.at(x); {
	case n.kind == complement && t.arena.at(Expr(n.a)).most < far:
		return MaxRoom
	case n.kind == sequence:
		x = Expr(n.a)
	}
	of, _, high := t.arena.counted(x)
	if t.arena.at(of).kind != class {
		return 0
	}
	if len(Intersect(plainRanges[plain], Complement(t.arena.rangesOf(of)))) > 0 {
		return 0
	}
	return min(high, MaxRoom)
}

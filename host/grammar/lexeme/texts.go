// SPDX-License-Identifier: MIT

package lexeme

// Without is Start for the expression's texts except some.
//
// # Errors
//   - Those of Start.
func (t *Automata) Without(x Expr, texts []string, d Decoder) (State, error) {
	if x >= t.arena.base {
		return t.Start(x, d) // which says what is wrong
	}
	s := Dead
	err := t.bounded(func() {
		some := make([]Expr, len(texts))
		for i, text := range texts {
			some[i] = t.arena.Text(text)
		}
		if rest := t.arena.And(x, t.arena.Not(t.arena.Or(some...))); !t.arena.isVoid(rest, statesPerStep) {
			s = t.betweenCharacters(rest, d)
		}
	})
	return s, err
}

// stepsPerTexts bounds the work of Texts. A thousand texts of twenty characters take less.
const stepsPerTexts = 50_000

// Texts returns x's texts where there are at most most of them; all reports whether that is so. Its
// work counts as making the arena.
//
// # Errors
//   - ErrTooMuch: finding them exceeds a bound of work.
func (a *Arena) Texts(x Expr, most int) (texts []string, all bool, err error) {
	err = a.Bounded(stepsPerTexts, func() { texts, all = a.texts(x, most) })
	return texts, all && err == nil, err
}

// prefix is the beginning of a text, and what may follow it.
type prefix struct {
	text string
	rest Expr
}

// texts extends all prefixes at once, a character at a time. What has no text is left out, so each
// prefix stands for at least one text.
func (a *Arena) texts(x Expr, most int) ([]string, bool) {
	var texts []string
	level := []prefix{{rest: x}}
	if a.isVoid(x, statesPerStep) {
		level = nil
	}
	for len(level) > 0 {
		var next []prefix
		for _, b := range level {
			if a.Nullable(b.rest) {
				texts = append(texts, b.text)
			}
			d := a.derive(b.rest)
			if !a.Spend(1+len(b.text)/16) || a.hasMany(d, most) {
				return nil, false
			}
			for i, c := range d.cuts {
				to, end := d.next[c.class], d.end(i)
				if to == Nothing || a.isVoid(to, statesPerStep) {
					continue
				}
				for r := c.from; r < end; r++ {
					if r < firstSurrogate || r > lastSurrogate {
						next = append(next, prefix{b.text + string(r), to})
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

// end is where the interval of a cut ends, the first character behind it.
func (d derivative) end(i int) rune {
	if i+1 < len(d.cuts) {
		return d.cuts[i+1].from
	}
	return maxRune + 1
}

// hasMany reports whether one interval alone has more than most characters that lead on.
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

// Plenty returns a byte length within which x has at least count strings, whatever the decoder;
// false where there are fewer, or that is too hard to find.
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
				parts := targetsOf(d, r.Low, r.High-r.Low+1)
				for i, part := range parts {
					end := r.High - r.Low + 1
					if i+1 < len(parts) {
						end = parts[i+1].from
					}
					if part.to != Nothing && a.Spend(1) {
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

// Ample returns a byte length within which x has more than count strings, whatever the decoder, and
// whatever one of them begins with; 0 where there is none, or a look at the expression does not
// show it. There is one where x excludes only some texts.
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
			more += int64(a.countAtMost(Expr(n.a)))
		case n.kind == repetition && n.max == far && a.at(Expr(n.a)).kind == class && all == All:
			all = p
		default:
			return 0
		}
	}
	of, low, _ := a.asRepetition(all)
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

// countAtMost is an upper bound of the number of x's texts; far: there may be any number.
func (a *Arena) countAtMost(x Expr) int32 {
	n := *a.at(x)
	if n.most >= far || !a.Spend(1) {
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
		return times(a.countAtMost(Expr(n.a)), a.countAtMost(Expr(n.b)))
	case union:
		count := int32(0)
		for _, p := range a.parts(x) {
			count = plus(count, a.countAtMost(p))
		}
		return count
	case repetition:
		if n.min == n.max && n.max < 8 {
			count := int32(1)
			for range n.max {
				count = times(count, a.countAtMost(Expr(n.a)))
			}
			return count
		}
	}
	return far
}

// Plain is a class of characters that every decoder writes as they are.
type Plain uint8

// The classes of plain characters.
const (
	PlainDigits  Plain = iota // 0 to 9
	PlainLetters              // A to Z, a to z
	PlainASCII                // from the space to ~, except " and \
	PlainAny                  // from the space on, except DEL, " and \

	plains
)

var plainRanges = [plains][]Range{
	PlainDigits:  {{'0', '9'}},
	PlainLetters: {{'A', 'Z'}, {'a', 'z'}},
	PlainASCII:   {{' ', '!'}, {'#', '['}, {']', '~'}},
	PlainAny:     {{' ', '!'}, {'#', '['}, {']', '~'}, {0x80, maxRune}},
}

// Has reports whether a class contains a character.
func (p Plain) Has(r rune) bool {
	for _, all := range plainRanges[p] {
		if r >= all.Low && r <= all.High {
			return true
		}
	}
	return false
}

const (
	// MaxRoom is the most that Room returns.
	MaxRoom = 64

	roomStates = 256 // that Room explores
)

type roomKey struct {
	of    Expr
	plain Plain
}

// Room returns a number n such that every text of at most n characters of a class may follow a
// state, that is, leads to a live one. n may be less than it could be, and is at most MaxRoom. It
// costs little, and less when asked again.
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
	if t.bounded(func() { n = t.measureRoom(x, plain) }) != nil && (n == 0 || t.maxSteps < stepsPerByte) {
		return int(n) // it may be higher with more steps
	}
	t.rooms[roomKey{x, plain}] = n
	return int(n)
}

// measureRoom follows all characters of a class at once, breadth first, until one leads nowhere or
// no new expressions come.
func (t *Automata) measureRoom(x Expr, plain Plain) int32 {
	if n := t.sureRoom(x, plain); n > 0 {
		return n
	}
	seen := map[Expr]bool{x: true}
	level := []Expr{x}
	for n := int32(0); n < MaxRoom && len(level) > 0; n++ {
		var next []Expr
		for _, y := range level {
			d := t.liveDerivative(y)
			for _, r := range plainRanges[plain] {
				for _, part := range targetsOf(d, r.Low, r.High-r.Low+1) {
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

// sureRoom is the room of an expression that begins with a number of characters of a wider class,
// or that excludes only texts of bounded length, which goes on behind every text. 0: it is neither.
func (t *Automata) sureRoom(x Expr, plain Plain) int32 {
	switch n := t.arena.at(x); {
	case n.kind == complement && t.arena.at(Expr(n.a)).most < far:
		return MaxRoom
	case n.kind == sequence:
		x = Expr(n.a)
	}
	of, _, high := t.arena.asRepetition(x)
	if t.arena.at(of).kind != class {
		return 0
	}
	if len(Intersect(plainRanges[plain], Complement(t.arena.rangesOf(of)))) > 0 {
		return 0
	}
	return min(high, MaxRoom)
}

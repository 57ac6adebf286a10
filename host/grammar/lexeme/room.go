// SPDX-License-Identifier: MIT

package lexeme

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

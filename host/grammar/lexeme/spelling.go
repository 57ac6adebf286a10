// SPDX-License-Identifier: MIT

package lexeme

import (
	"encoding/binary"
	"slices"
)

// Decoder is how bytes spell the characters of an expression.
type Decoder uint8

// The decoders.
const (
	UTF8       Decoder = iota // as they are
	JSONString                // within a JSON string's quotes: escapes are the characters that they mean, control characters must be escaped; the quotes are not part of it

	decoders
)

// step is where sixteen bytes lead, of which the first is given.
func (t *Automata) step(s State, from byte) block {
	var b block
	is := *t.info(s)
	for i := range b {
		c := from + byte(i)
		switch {
		case is.form == between:
			b[i] = t.stepBetween(Expr(is.what), is.decoder, c)
		case is.form <= third:
			b[i] = t.stepContinued(is, c)
		case is.form == escape:
			b[i] = t.stepEscape(Expr(is.what), is.decoder, c)
		default:
			b[i] = t.stepHex(is, c)
		}
	}
	return b
}

// stepBetween reads the first byte of a character.
func (t *Automata) stepBetween(x Expr, d Decoder, c byte) State {
	next := t.next(x)
	if d == JSONString {
		switch {
		case c < 0x20 || c == '"':
			return Dead
		case c == '\\':
			if !anyLive(next) {
				return Dead
			}
			return t.number(state{form: escape, decoder: d, what: int32(x)})
		}
	}
	switch {
	case c < 0x80:
		return t.boundary(next.by(rune(c)), d)
	case c < 0xC2 || c > 0xF4:
		return Dead
	case c < 0xE0:
		return t.within(first, d, rest{near: targets(next, int32(c&0x1F)<<6, 1<<6)})
	case c < 0xF0:
		near := targets(next, int32(c&0x0F)<<12, 1<<12)
		if c == 0xE0 {
			near = without(near, 0, 0x800, 1<<12)
		}
		if c == 0xED { // surrogates are no characters
			near = without(near, firstSurrogate&0xFFF, 0x800, 1<<12)
		}
		return t.within(second, d, rest{near: near})
	}
	near := targets(next, int32(c&0x07)<<18, 1<<18)
	if c == 0xF0 {
		near = without(near, 0, 1<<16, 1<<18)
	}
	if c == 0xF4 {
		near = without(near, 1<<16, 3<<16, 1<<18)
	}
	return t.within(third, d, rest{near: near})
}

func anyLive(d derivative) bool {
	for _, x := range d.next {
		if x != Nothing {
			return true
		}
	}
	return false
}

// stepContinued reads one of the other bytes of a character in UTF-8.
func (t *Automata) stepContinued(is state, c byte) State {
	if c&0xC0 != 0x80 {
		return Dead
	}
	near := t.rests[is.what].near
	if is.form == first {
		return t.boundary(cutOut(near, int32(c&0x3F), 1)[0].to, is.decoder)
	}
	size := int32(1) << (6 * (is.form - first))
	return t.within(is.form-1, is.decoder, rest{near: cutOut(near, int32(c&0x3F)*size, size)})
}

// meant are the characters of escapes of one letter.
var meant = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// stepEscape reads what follows a backslash.
func (t *Automata) stepEscape(x Expr, d Decoder, c byte) State {
	next := t.next(x)
	if r, ok := meant[c]; ok {
		return t.boundary(next.by(r), d)
	}
	if c != 'u' {
		return Dead
	}
	near := without(targets(next, 0, 1<<16), firstSurrogate, 0x800, 1<<16)
	return t.within(hex4, d, rest{near: near, far: targets(next, 1<<16, 1<<20)})
}

// stepHex reads a character of \u0000 that is no letter u of its beginning.
func (t *Automata) stepHex(is state, c byte) State {
	r := t.rests[is.what]
	switch is.form {
	case pairSlash, pairU:
		if is.form == pairSlash && c == '\\' {
			return t.within(pairU, is.decoder, r)
		}
		if is.form == pairU && c == 'u' {
			return t.within(pairHex4, is.decoder, r)
		}
		return Dead
	}
	v, ok := hexValue(c)
	if !ok {
		return Dead
	}
	if is.form >= pairHex1 {
		return t.stepPair(is, r.near, v)
	}
	digits := is.form - hex1 // after this one
	size := int32(1) << (4 * digits)
	near := cutOut(r.near, v*size, size)
	far := r.far
	switch {
	case far == nil:
	case is.form == hex4 && v == 0xD: // the first half of a pair is 0xD800 to 0xDBFF
	case is.form == hex3 && v >= 8 && v < 0xC:
		far = cutOut(far, (v-8)<<18, 1<<18)
	case is.form <= hex2:
		far = cutOut(far, v*size<<10, size<<10)
	default:
		far = nil
	}
	switch {
	case digits > 0:
		return t.within(is.form-1, is.decoder, rest{near: near, far: far})
	case far != nil:
		return t.within(pairSlash, is.decoder, rest{near: far})
	}
	return t.boundary(near[0].to, is.decoder)
}

// stepPair reads a digit of the second half of a pair, which is 0xDC00 to 0xDFFF.
func (t *Automata) stepPair(is state, near []target, v int32) State {
	switch is.form {
	case pairHex4:
		if v != 0xD {
			return Dead
		}
	case pairHex3:
		if v < 0xC {
			return Dead
		}
		near = cutOut(near, (v-0xC)<<8, 1<<8)
	case pairHex2:
		near = cutOut(near, v<<4, 1<<4)
	default:
		return t.boundary(cutOut(near, v, 1)[0].to, is.decoder)
	}
	return t.within(is.form-1, is.decoder, rest{near: near})
}

func hexValue(c byte) (int32, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int32(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int32(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int32(c-'A') + 10, true
	}
	return 0, false
}

// form is where in the spelling of a character a state is.
type form uint8

const (
	between form = iota // characters; all others are within one
	first               // of one byte that is missing in UTF-8
	second              // of two
	third               // of three
	escape              // after a backslash
	hex1                // before the last digit of \u0000
	hex2
	hex3
	hex4
	pairSlash // before the backslash of a second \u0000, which a surrogate begins
	pairU
	pairHex1 // before its last digit
	pairHex2
	pairHex3
	pairHex4
)

// rest is where the values lead that the rest of a spelling can have: each is a list of values
// from which on it is another expression, the first is 0. States after different bytes are one
// state where the rests are the same.
type rest struct {
	near []target // of what is missing of the character's number
	far  []target // of characters that take two \u0000, by their number less 0x10000; empty where no surrogate can come
}

type target struct {
	from int32
	to   Expr
}

// cutOut returns the part of a list from a value on, of so many values.
func cutOut(all []target, from, count int32) []target {
	var out []target
	for i, part := range all {
		if part.from >= from+count {
			break
		}
		if i+1 < len(all) && all[i+1].from <= from {
			continue
		}
		out = appendTarget(out, target{max(part.from-from, 0), part.to})
	}
	return out
}

func appendTarget(all []target, t target) []target {
	if last := len(all) - 1; last >= 0 && all[last].to == t.to {
		return all
	}
	return append(all, t)
}

func deadEnd(all []target) bool { return len(all) == 0 || len(all) == 1 && all[0].to == Nothing }

// targets is a derivative as a list for the characters from one on, of so many.
func targets(d derivative, from, count int32) []target {
	i, found := slices.BinarySearchFunc(d.cuts, from, func(c cut, from int32) int { return int(c.from - from) })
	if !found {
		i--
	}
	var all []target
	for ; i < len(d.cuts) && d.cuts[i].from < from+count; i++ {
		all = appendTarget(all, target{max(d.cuts[i].from-from, 0), d.next[d.cuts[i].class]})
	}
	return all
}

// without makes a list lead nowhere for some values.
func without(all []target, from, count, end int32) []target {
	var out []target
	for _, part := range cutOut(all, 0, from) {
		out = appendTarget(out, part)
	}
	out = appendTarget(out, target{from, Nothing})
	for _, part := range cutOut(all, from+count, end-from-count) {
		out = appendTarget(out, target{part.from + from + count, part.to})
	}
	return out
}

// within returns the state in a spelling, or Dead if it leads nowhere.
func (t *Automata) within(f form, d Decoder, r rest) State {
	if deadEnd(r.far) {
		r.far = nil
	}
	if r.far == nil && deadEnd(r.near) {
		return Dead
	}
	key := make([]byte, 0, 8*(len(r.near)+len(r.far))+4)
	key = binary.LittleEndian.AppendUint32(key, uint32(len(r.near)))
	for _, list := range [][]target{r.near, r.far} {
		for _, part := range list {
			key = binary.LittleEndian.AppendUint32(key, uint32(part.from))
			key = binary.LittleEndian.AppendUint32(key, uint32(part.to))
		}
	}
	if !t.arena.spend(1 + len(key)/16) {
		return Dead
	}
	n, known := t.restOf[string(key)]
	if !known {
		n = int32(len(t.rests))
		t.rests = append(t.rests, r)
		t.restOf[string(key)] = n
		t.restBytes += 2*len(key) + 80
	}
	return t.number(state{form: f, decoder: d, what: n})
}

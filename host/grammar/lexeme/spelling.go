// SPDX-License-Identifier: MIT

package lexeme

import (
	"encoding/binary"
	"slices"
)

// Decoder says how bytes spell the characters of an expression.
type Decoder uint8

// The decoders.
const (
	UTF8       Decoder = iota // characters are written as they are
	JSONString                // characters are written as in a JSON string, without its quotes: escapes stand for what they mean, and control characters must be escaped

	decoders
)

// computeBlock returns the states after sixteen bytes, from byte from on.
func (t *Automata) computeBlock(s State, from byte) block {
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
	next := t.liveDerivative(x)
	if d == JSONString {
		switch {
		case c < 0x20 || c == '"':
			return Dead
		case c == '\\':
			if !slices.ContainsFunc(next.next, func(x Expr) bool { return x != Nothing }) {
				return Dead
			}
			return t.internState(state{form: escape, decoder: d, what: int32(x)})
		}
	}
	switch {
	case c < 0x80:
		return t.betweenCharacters(next.after(rune(c)), d)
	case c < 0xC2 || c > 0xF4:
		return Dead
	case c < 0xE0:
		return t.withinCharacter(first, d, remainder{near: targetsOf(next, int32(c&0x1F)<<6, 1<<6)})
	case c < 0xF0:
		near := targetsOf(next, int32(c&0x0F)<<12, 1<<12)
		if c == 0xE0 {
			near = excludeTargets(near, 0, 0x800, 1<<12)
		}
		if c == 0xED { // surrogates are not characters
			near = excludeTargets(near, firstSurrogate&0xFFF, 0x800, 1<<12)
		}
		return t.withinCharacter(second, d, remainder{near: near})
	}
	near := targetsOf(next, int32(c&0x07)<<18, 1<<18)
	if c == 0xF0 {
		near = excludeTargets(near, 0, 1<<16, 1<<18)
	}
	if c == 0xF4 {
		near = excludeTargets(near, 1<<16, 3<<16, 1<<18)
	}
	return t.withinCharacter(third, d, remainder{near: near})
}

// stepContinued reads a further byte of a character in UTF-8.
func (t *Automata) stepContinued(is state, c byte) State {
	if c&0xC0 != 0x80 {
		return Dead
	}
	near := t.remainders[is.what].near
	if is.form == first {
		return t.betweenCharacters(sliceTargets(near, int32(c&0x3F), 1)[0].to, is.decoder)
	}
	size := int32(1) << (6 * (is.form - first))
	return t.withinCharacter(is.form-1, is.decoder, remainder{near: sliceTargets(near, int32(c&0x3F)*size, size)})
}

// meant has the characters of escapes of one letter.
var meant = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// stepEscape reads what follows a backslash.
func (t *Automata) stepEscape(x Expr, d Decoder, c byte) State {
	next := t.liveDerivative(x)
	if r, ok := meant[c]; ok {
		return t.betweenCharacters(next.after(r), d)
	}
	if c != 'u' {
		return Dead
	}
	near := excludeTargets(targetsOf(next, 0, 1<<16), firstSurrogate, 0x800, 1<<16)
	return t.withinCharacter(hex4, d, remainder{near: near, far: targetsOf(next, 1<<16, 1<<20)})
}

// stepHex reads a byte of \u0000 after its u, or of the second \u0000 of a surrogate pair.
func (t *Automata) stepHex(is state, c byte) State {
	r := t.remainders[is.what]
	switch is.form {
	case pairSlash, pairU:
		if is.form == pairSlash && c == '\\' {
			return t.withinCharacter(pairU, is.decoder, r)
		}
		if is.form == pairU && c == 'u' {
			return t.withinCharacter(pairHex4, is.decoder, r)
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
	digits := is.form - hex1 // that follow this one
	size := int32(1) << (4 * digits)
	near := sliceTargets(r.near, v*size, size)
	far := r.far
	switch {
	case far == nil:
	case is.form == hex4 && v == 0xD: // the first half of a pair is 0xD800 to 0xDBFF
	case is.form == hex3 && v >= 8 && v < 0xC:
		far = sliceTargets(far, (v-8)<<18, 1<<18)
	case is.form <= hex2:
		far = sliceTargets(far, v*size<<10, size<<10)
	default:
		far = nil
	}
	switch {
	case digits > 0:
		return t.withinCharacter(is.form-1, is.decoder, remainder{near: near, far: far})
	case far != nil:
		return t.withinCharacter(pairSlash, is.decoder, remainder{near: far})
	}
	return t.betweenCharacters(near[0].to, is.decoder)
}

// stepPair reads a digit of the second half of a surrogate pair, which is 0xDC00 to 0xDFFF.
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
		near = sliceTargets(near, (v-0xC)<<8, 1<<8)
	case pairHex2:
		near = sliceTargets(near, v<<4, 1<<4)
	default:
		return t.betweenCharacters(sliceTargets(near, v, 1)[0].to, is.decoder)
	}
	return t.withinCharacter(is.form-1, is.decoder, remainder{near: near})
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
	between form = iota // between two characters; all others are within one
	first               // one byte is missing in UTF-8
	second              // two are
	third               // three are
	escape              // after a backslash
	hex1                // before the last digit of \u0000
	hex2
	hex3
	hex4
	pairSlash // before the backslash of the second half of a surrogate pair
	pairU
	pairHex1 // before its last digit
	pairHex2
	pairHex3
	pairHex4
)

// remainder says where the values lead that the rest of a character's spelling can have: as lists
// of intervals, each of which leads to one expression; the first begins at 0. States after
// different bytes are one state where their remainders are equal.
type remainder struct {
	near []target // by the missing bits of the character's number
	far  []target // the same for surrogate pairs, whose numbers are less 0x10000; empty where none can come
}

// target begins an interval of values, and says where they lead.
type target struct {
	from int32
	to   Expr
}

// sliceTargets returns count values of a list, from one on.
func sliceTargets(all []target, from, count int32) []target {
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

func leadNowhere(all []target) bool { return len(all) == 0 || len(all) == 1 && all[0].to == Nothing }

// targetsOf returns a derivative as a list for count characters, from one on.
func targetsOf(d derivative, from, count int32) []target {
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

// excludeTargets returns a list of values to end in which count of them lead nowhere.
func excludeTargets(all []target, from, count, end int32) []target {
	var out []target
	for _, part := range sliceTargets(all, 0, from) {
		out = appendTarget(out, part)
	}
	out = appendTarget(out, target{from, Nothing})
	for _, part := range sliceTargets(all, from+count, end-from-count) {
		out = appendTarget(out, target{part.from + from + count, part.to})
	}
	return out
}

// withinCharacter returns the state within a spelling, or Dead if it leads nowhere.
func (t *Automata) withinCharacter(f form, d Decoder, r remainder) State {
	if leadNowhere(r.far) {
		r.far = nil
	}
	if r.far == nil && leadNowhere(r.near) {
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
	if !t.arena.Spend(1 + len(key)/16) {
		return Dead
	}
	n, known := t.remainderNumbers[string(key)]
	if !known {
		n = int32(len(t.remainders))
		t.remainders = append(t.remainders, r)
		t.remainderNumbers[string(key)] = n
		t.remainderBytes += 2*len(key) + 80
	}
	return t.internState(state{form: f, decoder: d, what: n})
}

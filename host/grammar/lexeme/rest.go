// SPDX-License-Identifier: MIT

package lexeme

import (
	"encoding/binary"
	"slices"
)

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

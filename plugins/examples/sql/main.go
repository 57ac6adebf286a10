// SPDX-License-Identifier: MIT

// Command sql is a plugin: the answer is one SELECT statement over given tables and columns.
package main

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[sql](penstock.Manifest{
	Name: "sql", Version: "1.0.0", Summary: "answers with one SELECT statement, over the tables and columns that there are",
	StrictMask: true, // what others force must fit, too
	ConfigSchema: `{"type": "object", "additionalProperties": false, "required": ["tables"], "properties": {
		"tables": {"type": "object", "minProperties": 1, "maxProperties": 64, "title": "Tables", "description": "the columns of each table, by its name, alone or with their types",
			"additionalProperties": {"type": ["array", "object"], "minItems": 1, "maxItems": 256, "items": {"type": "string", "minLength": 1, "maxLength": 32},
				"minProperties": 1, "maxProperties": 256, "additionalProperties": {"type": "string", "maxLength": 64}}}}}`,
})

func main() {}

// sql is the plugin in one request: where the answer stands.
type sql struct {
	words   *words
	place   place
	strayed bool // something else has put in what is no such statement
}

// words is the vocabulary, arranged so that a mask takes few steps.
type words struct {
	*penstock.Vocabulary
	named  list // a new name, or how it goes on
	spaced list // a blank and a new name
	other  list
	short  []uint32         // the named tokens of one or two bytes
	texts  []uint32         // tokens that may be in a string wherever there is room
	quotes []penstock.Token // others that may be there
	ends   []penstock.Token

	refused [256]uint32 // pair after which a third byte may not come
	pair    uint32

	one, two, three place // of tokens that are tried; here, since TinyGo would allocate each copy
}

// list is tokens by their first two bytes, so that those that cannot come are found at once.
type list struct {
	tokens []penstock.Token
	begin  []int32  // of each pair of bytes in tokens; those of one byte stand in front
	mask   []uint32 // the tokens as a mask
}

// Longest tokens, in bytes, that are named, and that are texts.
const (
	longestNamed = 16
	longestText  = 32
)

// Warm implements penstock.Warmer.
func (p *sql) Warm(v *penstock.Vocabulary) error {
	w := &words{Vocabulary: v}
	size := (v.Len() + 31) / 32
	w.short, w.texts = make([]uint32, size), make([]uint32, size)
	lists := []*list{&w.named, &w.spaced, &w.other}
	for _, l := range lists {
		l.begin, l.mask = make([]int32, 1<<16+258), make([]uint32, size)
	}
	which := make([]byte, v.Len())
	for t := range penstock.Token(v.Len()) {
		piece := v.Piece(t)
		if penstock.AttributesOf(t)&penstock.AttrEnd != 0 {
			w.ends = append(w.ends, t)
			which[t] = 3
		} else if len(piece) == 0 {
			which[t] = 3
		} else {
			which[t] = w.sort(t, piece)
			lists[which[t]].begin[pairOf(piece)+1]++
			set(lists[which[t]].mask, t)
		}
	}
	for _, l := range lists {
		for i := 1; i < len(l.begin); i++ {
			l.begin[i] += l.begin[i-1]
		}
		l.tokens = make([]penstock.Token, l.begin[len(l.begin)-1])
	}
	for t := penstock.Token(v.Len()); t > 0; t-- { // from the last on, each in front of the next
		if n := which[t-1]; n < 3 {
			l, next := lists[n], pairOf(v.Piece(t-1))+1
			l.begin[next]--
			l.tokens[l.begin[next]] = t - 1
		}
	}
	for _, l := range lists { // begin has moved up by a place
		copy(l.begin, l.begin[1:])
		l.begin[len(l.begin)-1] = int32(len(l.tokens))
	}
	p.words = w
	return nil
}

func set(mask []uint32, t penstock.Token) { mask[t/32] |= 1 << (t % 32) }

// sort says in which list a token is, and notes how it may be in a string.
func (w *words) sort(t penstock.Token, piece []byte) byte {
	if textual := isTextual(piece); textual && len(piece) <= longestText {
		set(w.texts, t)
	} else {
		w.quotes = append(w.quotes, t)
	}
	switch {
	case len(piece) <= longestNamed && isNamePart(piece):
		if len(piece) <= 2 {
			set(w.short, t)
		}
		return 0
	case len(piece) <= longestNamed && piece[0] == ' ' && len(piece) > 1 && isNamePart(piece[1:]):
		return 1
	}
	return 2
}

// pairOf is the place of a piece's first two bytes.
func pairOf(piece []byte) int {
	if len(piece) == 1 {
		return int(piece[0])
	}
	return 256 + int(piece[0])<<8 + int(piece[1])
}

func isTextual(piece []byte) bool {
	for _, b := range piece {
		if b < ' ' || b == '\'' || b == 0x7f {
			return false
		}
	}
	return utf8.Valid(piece)
}

// Open implements penstock.Opener.
func (p *sql) Open(q *penstock.Request) error {
	s, err := readSchema(q.Config.Get("tables"))
	if err == nil {
		p.place.query = newQuery(s)
	}
	return err
}

func readSchema(tables json.Value) (*schema, error) {
	s := &schema{}
	for _, table := range tables.Names() {
		list := tables.Get(table)
		names, columns := list.Names(), map[string]kind{}
		for i := range list.Len() {
			names = append(names, list.At(i).Text())
		}
		for _, name := range names {
			columns[name] = kindOf(list.Get(name).Text())
		}
		for i, name := range append([]string{table}, names...) {
			if where := "tables." + table; len(name) == 0 || len(name) > mostName || !isNamePart([]byte(name)) || !isName(name) {
				if i > 0 && list.Len() > 0 {
					where += "[" + strconv.Itoa(i-1) + "]"
				}
				return nil, errors.New(where + ": " + strconv.Quote(name) + " is no name without quotes in SQL; names have up to 32 letters, digits and _, no digit first, and are no word of the language: make a view with another name")
			}
		}
		s.add(table, columns)
	}
	return s, nil
}

// Prepare implements penstock.Preparer.
func (p *sql) Prepare(next *penstock.Next) {
	mask := next.Mask()
	mask.BanAll()
	goesOn := false
	if !p.strayed {
		p.words.fill(mask.Words(), &p.place)
		for _, word := range mask.Words() {
			goesOn = goesOn || word != 0
		}
	}
	if !goesOn || p.place.whole() { // a vocabulary without single bytes may have nothing that fits
		for _, t := range p.words.ends {
			mask.Allow(t)
		}
	}
}

// fill allows the tokens that may come at a place.
func (w *words) fill(mask []uint32, p *place) {
	if p.text == inside {
		if p.length+longestText < mostText { // else it is to end
			join(mask, w.texts)
		}
		for _, t := range w.quotes {
			w.two = *p
			w.try(mask, t, w.Piece(t))
		}
		return
	}
	w.one = *p
	if p.size > 0 && !isWord(p.part[p.size-1]) || p.text == quoted { // a name may follow at once
		w.one.complete()
	}
	switch names := w.one.text == outside && w.one.query.expects().names; {
	case !names || w.one.size > 0 && !isNamePart(w.one.part[:w.one.size]):
		w.fillFrom(mask, p, &w.named)
	case w.one.size+longestNamed <= mostName:
		join(mask, w.named.mask)
	case w.one.size+2 <= mostName: // near the end of a name only in small steps
		join(mask, w.short)
	}
	if w.one = *p; w.one.step(' ') && w.one.size == 0 && w.one.text == outside && w.one.query.expects().names {
		join(mask, w.spaced.mask)
	} else {
		w.fillFrom(mask, p, &w.spaced)
	}
	w.fillFrom(mask, p, &w.other)
}

func join(mask, more []uint32) {
	for i, word := range more {
		mask[i] |= word
	}
}

// fillFrom allows those of a list, of which each byte may come.
func (w *words) fillFrom(mask []uint32, p *place, l *list) {
	for first := range 256 {
		pairs := l.begin[256+first<<8 : 257+first<<8+256]
		singles := l.tokens[l.begin[first]:l.begin[first+1]]
		if len(singles) == 0 && pairs[0] == pairs[256] {
			continue
		}
		if w.one = *p; !w.one.step(byte(first)) {
			continue
		}
		if w.one.text != inside || first < utf8.RuneSelf { // a part of a character is none
			for _, t := range singles {
				set(mask, t)
			}
		}
		for second := range 256 {
			tokens := l.tokens[pairs[second]:pairs[second+1]]
			if len(tokens) == 0 {
				continue
			}
			if w.two = w.one; !w.two.step(byte(second)) {
				continue
			}
			w.three = w.two
			w.pair++
			for _, t := range tokens {
				left := w.Piece(t)[2:]
				if len(left) > 0 && w.refused[left[0]] == w.pair {
					continue
				}
				if w.two = w.three; w.try(mask, t, left) == 0 && len(left) > 0 {
					w.refused[left[0]] = w.pair
				}
			}
		}
	}
}

// try allows a token if the bytes of it that are left may come at the second place, and returns how
// many may. What is no whole character would be none with what follows.
func (w *words) try(mask []uint32, t penstock.Token, left []byte) (fit int) {
	for _, b := range left {
		if !w.two.step(b) {
			return fit
		}
		fit++
	}
	if utf8.Valid(w.Piece(t)) {
		set(mask, t)
	}
	return fit
}

// Accept implements penstock.Accepter.
func (p *sql) Accept(t penstock.Token) penstock.Accepted {
	for _, b := range p.words.Piece(t) {
		p.strayed = p.strayed || !p.place.step(b)
	}
	if !p.strayed && p.place.size == 1 && p.place.part[0] == ';' {
		return penstock.Stop // nothing but the end could follow
	}
	return penstock.Continue
}

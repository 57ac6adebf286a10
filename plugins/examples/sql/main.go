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
		"tables": {"type": "object", "minProperties": 1, "maxProperties": 64, "title": "Tables", "description": "the columns of each table, by its name",
			"additionalProperties": {"type": "array", "minItems": 1, "maxItems": 256, "items": {"type": "string", "minLength": 1, "maxLength": 32}}}}}`,
})

func main() {}

// sql is the plugin in one request: where the answer stands.
type sql struct {
	words   *words
	place   place
	strayed bool // something else has put in what is no such statement
}

// words are the tokens by their first two bytes, so that those that cannot come are found at once.
type words struct {
	*penstock.Vocabulary
	order []penstock.Token // by their first two bytes
	begin []int32          // of each pair of bytes in order; tokens of one byte stand in front
	kind  []byte           // of each token: how its bytes from the third on are
	ends  []penstock.Token
}

// What all bytes of a token from the third on are.
const (
	wordly  = 1 << iota // of words
	textual             // of strings, without quotes
)

// Warm implements penstock.Warmer.
func (p *sql) Warm(v *penstock.Vocabulary) error {
	w := &words{Vocabulary: v, begin: make([]int32, 1<<16+258), kind: make([]byte, v.Len())}
	for t := range penstock.Token(v.Len()) {
		if penstock.AttributesOf(t)&penstock.AttrEnd != 0 {
			w.ends = append(w.ends, t)
		} else if pair := pairOf(v.Piece(t)); pair >= 0 {
			w.begin[pair+1]++
			w.kind[t] = kindOf(v.Piece(t))
		}
	}
	for i := 1; i < len(w.begin); i++ {
		w.begin[i] += w.begin[i-1]
	}
	w.order = make([]penstock.Token, w.begin[len(w.begin)-1])
	filled := append([]int32(nil), w.begin...)
	for t := range penstock.Token(v.Len()) {
		if pair := pairOf(v.Piece(t)); pair >= 0 && penstock.AttributesOf(t)&penstock.AttrEnd == 0 {
			w.order[filled[pair]] = t
			filled[pair]++
		}
	}
	p.words = w
	return nil
}

// pairOf is the place of a piece's first two bytes; −1 if it has none.
func pairOf(piece []byte) int {
	switch len(piece) {
	case 0:
		return -1
	case 1:
		return int(piece[0])
	}
	return 256 + int(piece[0])<<8 + int(piece[1])
}

func kindOf(piece []byte) byte {
	kind := byte(wordly | textual)
	for i, b := range piece {
		if i > 1 && !isWord(b) {
			kind &^= wordly
		}
		if i > 1 && (b < ' ' || b == '\'' || b == 0x7f) {
			kind &^= textual
		}
	}
	if !utf8.Valid(piece) {
		kind &^= textual
	}
	return kind
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
	s := &schema{having: map[string]uint64{}}
	for _, table := range tables.Names() {
		list := tables.Get(table)
		var columns []string
		for i := range list.Len() {
			columns = append(columns, list.At(i).Text())
		}
		for i, name := range append([]string{table}, columns...) {
			if where := "tables." + table; len(name) == 0 || len(name) > mostName || !isNamePart([]byte(name)) || !isName(name) {
				if i > 0 {
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
	if p.strayed || p.place.whole() {
		for _, t := range p.words.ends {
			mask.Allow(t)
		}
	}
	if !p.strayed {
		p.words.fill(mask, p.place)
	}
}

// fill allows the tokens that may come at a place.
func (w *words) fill(mask *penstock.Mask, p place) {
	for first := range 256 {
		one := p
		if !one.step(byte(first)) {
			continue
		}
		if one.text != inside || first < utf8.RuneSelf { // a part of a character is none
			for _, t := range w.order[w.begin[first]:w.begin[first+1]] {
				mask.Allow(t)
			}
		}
		for second := range 256 {
			pair := 256 + first<<8 + second
			tokens := w.order[w.begin[pair]:w.begin[pair+1]]
			if len(tokens) == 0 {
				continue
			}
			two := one
			if !two.step(byte(second)) {
				continue
			}
			for _, t := range tokens {
				if w.fits(t, two) {
					mask.Allow(t)
				}
			}
		}
	}
}

// fits reports whether a token may come, whose first two bytes have brought the query to a place.
func (w *words) fits(t penstock.Token, p place) bool {
	piece := w.Piece(t)
	switch e := p.query.expects(); {
	case p.text == inside && w.kind[t]&textual != 0:
		return p.length+len(piece) < mostText
	case p.text == outside && p.size > 0 && e.names && w.kind[t]&wordly != 0 && p.size+len(piece)-2 <= mostName && isNamePart(p.part[:p.size]):
		return true
	}
	for _, b := range piece[2:] {
		if !p.step(b) {
			return false
		}
	}
	return utf8.Valid(piece) // what is no whole character would be none with what follows
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

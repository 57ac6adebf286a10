// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"sort"
)

// Bounds of lexemes and of the blanks between two of them.
const (
	mostBlanks = 8
	mostName   = 32
	mostText   = 255
	mostDigits = 15
	mostCount  = 6
)

// expected is what may come next in a query.
type expected struct {
	words []string // and signs
	at    []*query // for each, the query in which it is the next symbol
	then  []*query // and the one after it, once it was asked for: many tokens ask
	class string   // of the identifier that may come: @word, @table, @qcolumn, @alias or @name
	named *query   // in which it is the next symbol
	exact []string // identifiers that there are, sorted
	names bool     // it may be a new name, too
	ends  bool

	number, count, text  *query // nil: none may come
	thenNumber, thenText *query // after one, once it was asked for

	joined bool // no blank may come: what follows is a dot, or follows one

	lexeme [48]byte // that was asked for last, and the query after it: each byte that may follow asks
	size   int
	quoted bool
	after  *query
}

func (q *query) expects() *expected {
	if q.next != nil {
		return q.next
	}
	e := &expected{}
	e.ends = q.options(func(lexeme string, at *query) {
		switch lexeme {
		case "@number":
			e.number = at
		case "@count":
			e.count = at
		case "@string":
			e.text = at
		case "@word", "@table", "@qcolumn", "@alias", "@name":
			e.class, e.named = lexeme, at
		default:
			e.words, e.at, e.then = append(e.words, lexeme), append(e.at, at), append(e.then, nil)
		}
	})
	e.joined = e.class == "@qcolumn" || e.class == "" && len(e.words) == 1 && e.words[0] == "."
	at := e.named
	switch e.class {
	case "@table":
		for t, name := range at.tables {
			if at.style != plain || at.common>>t&1 == 1 {
				e.exact = append(e.exact, name)
			}
		}
	case "@qcolumn":
		for column, tables := range at.having[at.want] {
			if tables&at.mayBe(at.word) != 0 {
				e.exact = append(e.exact, column)
			}
		}
	case "@word":
		e.exact, e.names = at.words()
	case "@alias", "@name":
		e.names = true
	}
	sort.Strings(e.exact)
	q.next = e
	return e
}

// words are the columns and the words before them that may come.
func (q *query) words() (exact []string, names bool) {
	for column := range q.having[q.want] {
		if q.isColumn(column) {
			exact = append(exact, column)
		}
	}
	if q.first {
		exact = append(exact, q.outputs...)
	}
	if q.style == plain {
		return exact, false
	}
	add := func(name string) {
		if q.isQualifier(name) {
			exact = append(exact, name)
		}
	}
	for _, n := range q.scope {
		add(n.name)
	}
	for _, w := range q.wanted {
		add(w.name)
	}
	if q.from || len(q.wanted) >= mostWanted {
		return exact, false
	}
	for _, t := range q.tables {
		add(t)
	}
	return exact, q.some[q.want] != 0
}

// place is a place in a query's text. It is a value: a token is tried on a copy.
type place struct {
	query  *query
	part   [48]byte // the lexeme so far, unless it is a string
	size   int      // of the part
	blanks int      // before the lexeme
	text   text
	length int // of the string
}

// text is where a place is in a string.
type text int8

const (
	outside text = iota
	inside
	quoted // after a quote: the string has ended, or a second one makes it part of the string
)

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

func isBlank(b byte) bool { return b == ' ' || b == '\n' }

// step goes on by a byte, and reports whether it may come.
func (p *place) step(b byte) bool {
	if p.text == inside {
		if p.length++; b == '\'' {
			p.text = quoted
			return true
		}
		return b >= ' ' && b != 0x7f && p.length < mostText
	}
	if p.text == quoted && b == '\'' && p.length < mostText {
		p.text = inside
		return true
	}
	if p.size > 0 && p.size < len(p.part) && p.text == outside {
		if p.part[p.size] = b; p.query.expects().begins(p.part[:p.size+1]) {
			p.size++
			return true
		}
		p.part[p.size] = 0
	}
	if p.size > 0 || p.text == quoted {
		if isWord(b) && p.text == outside && isWord(p.part[p.size-1]) || !p.complete() {
			return false
		}
	}
	e := p.query.expects()
	switch {
	case isBlank(b):
		p.blanks++
		return p.blanks <= mostBlanks && !e.joined && len(p.query.stack) > 0
	case b == '\'' && e.text != nil:
		p.text, p.length = inside, 1
		return true
	case b == '.' && p.blanks > 0, b == '-' && p.blanks == 0 && p.query.last == "-": // -- is a comment
		return false
	}
	p.part[0], p.size = b, 1
	return e.begins(p.part[:1])
}

// complete ends the lexeme, and reports whether it may end here.
func (p *place) complete() bool {
	e := p.query.expects()
	if ends := p.text == quoted; e.after == nil || e.size != p.size || e.quoted != ends || e.lexeme != p.part {
		e.lexeme, e.size, e.quoted, e.after = p.part, p.size, ends, e.ended(p)
	}
	if e.after == nil {
		return false
	}
	*p = place{query: e.after}
	return true
}

// whole reports whether the query may end here.
func (p place) whole() bool {
	if (p.size > 0 || p.text != outside) && (p.text == inside || !p.complete()) {
		return false
	}
	return p.query.expects().ends
}

// begins reports whether a lexeme may begin with a part.
func (e *expected) begins(part []byte) bool {
	if e.names && len(part) <= mostName && isNamePart(part) {
		return true
	}
	first := part[0]
	if first >= 'a' && first <= 'z' {
		first -= 'a' - 'A'
	}
	for _, w := range e.words {
		if w[0] == first && len(part) <= len(w) && folds(part, w) {
			return true
		}
	}
	low, high := 0, len(e.exact)
	for low < high {
		switch middle := (low + high) / 2; compare(part, e.exact[middle]) {
		case 0:
			return true
		case 1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return e.number != nil && number(part) >= partly || e.count != nil && len(part) <= mostCount && digits(part) == len(part)
}

// compare is 0 if a word begins with a part, and else whether the part comes before or after it.
// Package strings would allocate.
func compare(part []byte, word string) int {
	for i, b := range part {
		switch {
		case i >= len(word) || b > word[i]:
			return 1
		case b < word[i]:
			return -1
		}
	}
	return 0
}

// folds reports whether a part, in small letters or capitals, is how a word begins.
func folds(part []byte, word string) bool {
	for i, b := range part {
		if b >= 'a' && b <= 'z' {
			b -= 'a' - 'A'
		}
		if b != word[i] {
			return false
		}
	}
	return true
}

func isNamePart(part []byte) bool {
	for _, b := range part {
		if !isWord(b) {
			return false
		}
	}
	return part[0] < '0' || part[0] > '9'
}

func digits(part []byte) (n int) {
	for n < len(part) && part[n] >= '0' && part[n] <= '9' {
		n++
	}
	return n
}

// How a part is a number.
const (
	never = iota
	partly
	wholly
)

func number(part []byte) int {
	if part[0] == '-' {
		if part = part[1:]; len(part) == 0 {
			return partly
		}
	}
	n := digits(part)
	rest := part[n:]
	switch {
	case n == 0 || n > mostDigits:
		return never
	case len(rest) == 0:
		return wholly
	case rest[0] != '.' || digits(rest[1:]) != len(rest)-1 || len(rest) > mostDigits:
		return never
	case len(rest) == 1:
		return partly
	}
	return wholly
}

// once is the query after a lexeme, which it keeps.
func once(then **query, at *query, lexeme string) *query {
	if *then == nil {
		*then = at.after(lexeme, lexeme)
	}
	return *then
}

// ended is the query after the lexeme of a place; nil: it is not whole.
func (e *expected) ended(p *place) *query {
	part := p.part[:p.size]
	if p.text == quoted {
		return once(&e.thenText, e.text, "@string")
	}
	for i, w := range e.words {
		if len(w) == len(part) && folds(part, w) {
			return once(&e.then[i], e.at[i], w)
		}
	}
	if e.number != nil && number(part) == wholly {
		return once(&e.thenNumber, e.number, "@number")
	}
	if e.count != nil && digits(part) == len(part) {
		return once(&e.thenNumber, e.count, "@count")
	}
	word, at := string(part), e.named
	_, found := slices.BinarySearch(e.exact, word)
	switch {
	case at == nil:
		return nil
	case found,
		e.class == "@word" && e.names && isNamePart(part) && at.isQualifier(word),
		e.class == "@alias" && isNamePart(part) && at.isAlias(word),
		e.class == "@name" && isNamePart(part) && at.isOutput(word):
		return at.after(e.class, word)
	}
	return nil
}

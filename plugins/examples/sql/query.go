// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"strings"
)

// schema is the tables that there are, 64 at most, so that sets of them are bits.
type schema struct {
	tables  []string
	columns []map[string]bool // of each table
	having  map[string]uint64 // tables that have a column
	all     uint64
}

func (s *schema) add(table string, columns []string) {
	i, has := len(s.tables), map[string]bool{}
	for _, c := range columns {
		has[c] = true
		s.having[c] |= 1 << i
	}
	s.tables, s.columns, s.all = append(s.tables, table), append(s.columns, has), s.all|1<<i
}

// style is how a query names columns, in all its clauses alike.
type style int

const (
	undecided style = iota
	plain           // name; such a query is of one table
	qualified       // table.name, or alias.name; only such a query has joins
)

// named is a table by its name in a query.
type named struct {
	name  string
	table int
}

// wanted is a name before a column in the list after SELECT, where the tables are not known yet,
// and the tables that it may turn out to be.
type wanted struct {
	name   string
	tables uint64
}

// mostWanted is how many names the list after SELECT has before columns.
const mostWanted = 8

// deepest is how many symbols are open before no other parenthesis may be.
const deepest = 40

// query is a place between two lexemes. It is never changed: what comes next is another one.
type query struct {
	*schema
	stack []string // of symbols that are to come, the next one last
	style
	common  uint64 // of a plain query: the tables that have all its columns
	wanted  []wanted
	scope   []named // after FROM
	outputs []string
	from    bool   // FROM has come
	sorts   bool   // ORDER has come
	grouped bool   // GROUP or an aggregate has come
	word    string // that is a column, or stands before one
	first   bool   // it is the first one of what is sorted by
	table   int    // that may get an alias
	last    string
	next    *expected // what may come, once it was asked for
}

func newQuery(s *schema) *query { return &query{schema: s, stack: []string{"query"}, common: s.all} }

// with is the query with its next symbol replaced.
func (q *query) with(symbols []string) *query {
	n := *q
	n.next, n.stack = nil, slices.Clone(q.stack[:len(q.stack)-1])
	for _, s := range slices.Backward(symbols) {
		n.stack = append(n.stack, s)
	}
	return &n
}

// skip is the query after its next symbol has become nothing; nil if it may not.
func (q *query) skip() *query {
	top := q.stack[len(q.stack)-1]
	if !slices.ContainsFunc(rules[top], func(a []string) bool { return len(a) == 0 }) {
		return nil
	}
	n := q.with(nil)
	switch top {
	case "qual":
		if !q.isColumn(q.word) {
			return nil
		}
		if !slices.Contains(q.outputs, q.word) {
			n.style, n.common = plain, q.common&q.having[q.word]
		}
	case "alias":
		if q.inScope(q.tables[q.table]) >= 0 {
			return nil
		}
		n.enter(q.tables[q.table])
	case "joins":
		if len(q.wanted) > 0 {
			return nil
		}
	}
	return n
}

// enter adds the table to the scope, and answers what was wanted of its name.
func (q *query) enter(name string) {
	q.scope = append(slices.Clip(q.scope), named{name, q.table})
	q.wanted = slices.DeleteFunc(slices.Clone(q.wanted), func(w wanted) bool { return w.name == name })
}

// inScope is the table that has a name in the query, or −1.
func (q *query) inScope(name string) int {
	for _, n := range q.scope {
		if n.name == name {
			return n.table
		}
	}
	return -1
}

// isColumn reports whether a word may be a column, or a name that AS has given one.
func (q *query) isColumn(word string) bool {
	switch {
	case q.first && slices.Contains(q.outputs, word):
		return true
	case q.style == qualified:
		return false
	case !q.from:
		return q.common&q.having[word] != 0
	}
	return len(q.scope) == 1 && q.columns[q.scope[0].table][word]
}

// isQualifier reports whether a word may stand before a column.
func (q *query) isQualifier(word string) bool {
	switch {
	case q.style == plain:
		return false
	case q.from:
		return q.inScope(word) >= 0
	}
	_, known := q.wantedAs(word)
	return known || len(q.wanted) < mostWanted && (slices.Contains(q.tables, word) || isName(word))
}

// mayBe are the tables that the word before a column may be.
func (q *query) mayBe(word string) uint64 {
	if t := q.inScope(word); q.from {
		return 1 << t
	}
	if tables, known := q.wantedAs(word); known {
		return tables
	}
	if t := slices.Index(q.tables, word); t >= 0 {
		return 1 << t
	}
	return q.all
}

// isName reports whether a word may be a new name.
func isName(word string) bool { return word != "" && !reserved[strings.ToUpper(word)] }

// isAlias reports whether a word may be the alias of the table that was just named.
func (q *query) isAlias(word string) bool {
	if !isName(word) || q.inScope(word) >= 0 || slices.Contains(q.tables, word) {
		return false
	}
	tables, _ := q.wantedAs(word)
	return tables>>q.table&1 == 1
}

// wantedAs is the tables that a name before a column may turn out to be; all of them, and false, if
// it is no such name yet.
func (q *query) wantedAs(name string) (tables uint64, known bool) {
	for _, w := range q.wanted {
		if w.name == name {
			return w.tables, true
		}
	}
	return q.all, false
}

// isOutput reports whether a word may be a column's new name.
func (q *query) isOutput(word string) bool {
	return isName(word) && q.having[word] == 0 && !slices.Contains(q.tables, word) && !slices.Contains(q.outputs, word)
}

// options calls f with each lexeme, or class of them, that may come next, and with the query in
// which it is the next symbol. It reports whether the query may end.
func (q *query) options(f func(lexeme string, at *query)) (ends bool) {
	for len(q.stack) > 0 {
		q.top(f)
		if rules[q.stack[len(q.stack)-1]] == nil {
			return false
		}
		if q = q.skip(); q == nil {
			return false
		}
	}
	return true
}

func (q *query) top(f func(lexeme string, at *query)) {
	top := q.stack[len(q.stack)-1]
	alternatives := rules[top]
	if alternatives == nil {
		f(top, q)
		return
	}
	for _, symbols := range alternatives {
		switch {
		case len(symbols) == 0,
			top == "joins" && q.style == plain,
			top == "aggregate" && q.sorts && !q.grouped,
			symbols[0] == "(" && len(q.stack) > deepest,
			symbols[0] == "." && !q.isQualifier(q.word):
		default:
			q.with(symbols).top(f)
		}
	}
}

// after is the query after a lexeme, which is its next symbol; text is how it is written.
func (q *query) after(lexeme, text string) *query {
	n := q.with(nil)
	n.last, n.first = lexeme, q.first && lexeme == "@word" || n.sorts && (lexeme == "BY" || lexeme == ",")
	switch lexeme {
	case "FROM":
		n.from = true
	case "ORDER":
		n.sorts = true
	case "GROUP", "COUNT", "SUM", "AVG", "MIN", "MAX":
		n.grouped = true
	case "JOIN":
		n.style = qualified
	case "@word":
		n.word = text
	case ".":
		n.style = qualified
		if _, known := q.wantedAs(q.word); !q.from && !known {
			n.wanted = append(slices.Clip(q.wanted), wanted{q.word, q.mayBe(q.word)})
		}
	case "@qcolumn":
		n.wanted = slices.Clone(q.wanted)
		for i := range n.wanted {
			if n.wanted[i].name == q.word && !q.from {
				n.wanted[i].tables &= q.having[text]
			}
		}
	case "@table":
		n.table = slices.Index(q.tables, text)
	case "@alias":
		n.enter(text)
	case "@name":
		n.outputs = append(slices.Clip(q.outputs), text)
	}
	return n
}

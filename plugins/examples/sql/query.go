// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"strings"
)

// rules are the grammar: what a symbol may become, a line for each alternative, of which - is
// nothing. Words in capitals and signs are themselves, @… is a class of lexemes. The next lexeme
// decides between alternatives. Symbols with a ' may have aggregates in them.
var rules = readRules(`
query    = SELECT distinct items FROM source joins where group order limit semi
distinct = DISTINCT | -
items    = * | item moreitems
item     = expr' as
moreitems = , item moreitems | -
as       = AS @name | -
source   = @table alias
alias    = AS @alias | @alias | -
joins    = JOIN joined | INNER JOIN joined | LEFT outer JOIN joined | RIGHT outer JOIN joined | -
outer    = OUTER | -
joined   = source ON cond joins
where    = WHERE cond | -
group    = GROUP BY column morecolumns having | -
column   = @word qual
morecolumns = , column morecolumns | -
having   = HAVING cond' | -
order    = ORDER BY key morekeys | -
key      = sorted tail' direction
sorted   = aggregate | column
morekeys = , key morekeys | -
direction = ASC | DESC | -
limit    = LIMIT @count offset | -
offset   = OFFSET @count | -
semi     = ; | -
qual     = . @qcolumn | -
values   = value morevalues
morevalues = , value morevalues | -
value    = @number | @string
aggregate = COUNT ( counted ) | SUM ( expr ) | AVG ( expr ) | MIN ( expr ) | MAX ( expr )
counted  = * | DISTINCT expr | expr
isnot    = NOT | -
operand' = aggregate | ( expr' ) | value | column
operand  = ( expr ) | value | column
` + both(`
expr?    = operand? tail?
tail?    = + operand? tail? | - operand? tail? | * operand? tail? | / operand? tail? | -
cond?    = pred? morepreds?
morepreds? = AND pred? morepreds? | OR pred? morepreds? | -
pred?    = NOT pred? | ( cond? ) | plainoperand? tail? comparison?
comparison? = = expr? | <> expr? | != expr? | < expr? | <= expr? | > expr? | >= expr? | IS isnot NULL | NOT range? | range?
range?   = LIKE @string | IN ( values ) | BETWEEN expr? AND expr?
`) + `
plainoperand' = aggregate | value | column
plainoperand = value | column
`)

// both writes rules twice, for where aggregates may be and where not.
func both(text string) string {
	return strings.ReplaceAll(text, "?", "'") + strings.ReplaceAll(text, "?", "")
}

// nothing is the alternative that is nothing. The sign - stands at the beginning of others.
const nothing = "-"

func readRules(text string) map[string][][]string {
	rules := map[string][][]string{}
	for _, line := range strings.Split(text, "\n") {
		name, alternatives, found := strings.Cut(line, " = ")
		if !found {
			continue
		}
		name = strings.TrimSpace(name)
		for _, alternative := range strings.Split(alternatives, " | ") {
			symbols := strings.Fields(alternative)
			if alternative = strings.TrimSpace(alternative); alternative == nothing {
				symbols = nil
			}
			rules[name] = append(rules[name], symbols)
		}
	}
	return rules
}

// reserved are words that no table, column or alias may be called.
var reserved = readReserved()

func readReserved() map[string]bool {
	words := map[string]bool{}
	for _, alternatives := range rules {
		for _, symbols := range alternatives {
			for _, s := range symbols {
				if s[0] >= 'A' && s[0] <= 'Z' {
					words[s] = true
				}
			}
		}
	}
	for _, word := range strings.Fields("ALL ANY CASE CREATE CROSS DELETE DROP ELSE END EXCEPT EXISTS FALSE FETCH FOR FULL INSERT INTERSECT INTO NATURAL RETURNING SET THEN TRUE UNION UPDATE USING VALUES WHEN WINDOW WITH") {
		words[word] = true
	}
	return words
}

// kind is that of a value, by its column's type.
type kind int

const (
	unknown kind = iota // it may be any
	numeric
	textual
	kinds
)

// kindOf is the kind of an SQL type; unknown where it is neither surely a number nor surely a text.
func kindOf(typ string) kind {
	name, _, _ := strings.Cut(strings.ToUpper(typ), "(")
	switch strings.TrimSpace(name) {
	case "INT", "INTEGER", "TINYINT", "SMALLINT", "BIGINT", "SERIAL", "NUMBER", "NUMERIC", "DECIMAL", "REAL", "FLOAT", "DOUBLE", "DOUBLE PRECISION":
		return numeric
	case "TEXT", "STRING", "CHAR", "CHARACTER", "VARCHAR", "NVARCHAR", "CHARACTER VARYING":
		return textual
	}
	return unknown
}

// schema is the tables that there are, 64 at most, so that sets of them are bits.
type schema struct {
	tables  []string
	columns []map[string]kind        // of each table
	having  [kinds]map[string]uint64 // tables whose column of a name may be of a kind; of unknown: all that have it
	some    [kinds]uint64            // tables that have such a column
	all     uint64
}

func (s *schema) add(table string, columns map[string]kind) {
	i := len(s.tables)
	for c, has := range columns {
		for want := range kinds {
			if s.having[want] == nil {
				s.having[want] = map[string]uint64{}
			}
			if want == unknown || has == unknown || has == want {
				s.having[want][c] |= 1 << i
				s.some[want] |= 1 << i
			}
		}
	}
	s.tables, s.columns, s.all = append(s.tables, table), append(s.columns, columns), s.all|1<<i
}

// kindIn is the kind of a column in each of the tables that have it; unknown where they differ.
func (s *schema) kindIn(tables uint64, column string) (common kind) {
	for t, columns := range s.columns {
		if k, has := columns[column]; has && tables>>t&1 == 1 {
			if common != unknown && k != common || k == unknown {
				return unknown
			}
			common = k
		}
	}
	return common
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
	kind    kind      // of the last operand
	want    kind      // of the next one
	summed  string    // the aggregate in whose parentheses it is, where the stack has more than closes
	closes  int       // 0: in none
	outer   kind      // what was wanted before it
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
		if slices.Contains(q.outputs, q.word) {
			n.ends(unknown)
		} else {
			n.style, n.common = plain, q.common&q.having[q.want][q.word]
			tables := n.common
			if q.from {
				tables = 1 << q.scope[0].table
			}
			n.ends(q.kindIn(tables, q.word))
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

// ends notes the kind of an operand that is complete.
func (q *query) ends(k kind) {
	if q.kind = k; k == unknown {
		q.kind = q.want
	}
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
		return q.common&q.having[q.want][word] != 0
	}
	return len(q.scope) == 1 && q.having[q.want][word]>>q.scope[0].table&1 == 1
}

// isQualifier reports whether a word may stand before a column.
func (q *query) isQualifier(word string) bool {
	switch {
	case q.style == plain:
		return false
	case q.from:
		t := q.inScope(word)
		return t >= 0 && q.some[q.want]>>t&1 == 1
	case q.mayBe(word)&q.some[q.want] == 0:
		return false
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
	return isName(word) && q.having[unknown][word] == 0 && !slices.Contains(q.tables, word) && !slices.Contains(q.outputs, word)
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
			top == "aggregate" && (q.sorts && !q.grouped || q.want == textual && symbols[0] != "MIN" && symbols[0] != "MAX"),
			top == "value" && (q.want == textual && symbols[0] == "@number" || q.want == numeric && symbols[0] == "@string"),
			strings.HasPrefix(top, "tail") && (q.kind == textual || q.want == textual),
			symbols[0] == "LIKE" && q.kind == numeric,
			symbols[0] == "(" && len(q.stack) > deepest,
			symbols[0] == "." && !q.isQualifier(q.word):
		default:
			q.with(symbols).top(f)
		}
	}
}

// follow notes which kind the next operand is to be, and that of the one that has ended. The
// lexeme is off the stack already.
func (q *query) follow(lexeme string) {
	then := ""
	if len(q.stack) > 0 {
		then = strings.TrimSuffix(q.stack[len(q.stack)-1], "'")
	}
	switch lexeme {
	case "@number":
		q.ends(numeric)
	case "@string":
		q.ends(textual)
	case "+", "-", "*", "/":
		q.want = numeric
	case "=", "<>", "!=", "<", "<=", ">", ">=", "IN", "BETWEEN":
		q.want = q.kind
	case "COUNT", "SUM", "AVG", "MIN", "MAX":
		q.summed, q.outer, q.closes = lexeme, q.want, len(q.stack)-3 // with what is in parentheses
		switch lexeme {
		case "COUNT":
			q.want = unknown
		case "SUM", "AVG":
			q.want = numeric
		}
	case ")":
		if q.closes > 0 && len(q.stack) == q.closes {
			if q.want, q.closes = q.outer, 0; q.summed != "MIN" && q.summed != "MAX" {
				q.kind = numeric
			}
		}
	case "FROM", "WHERE", "ON", "HAVING", "BY", "OR":
		q.want = unknown
	case "AND", ",":
		if then != "expr" && then != "value" { // of BETWEEN and of IN
			q.want = unknown
		}
	}
}

// after is the query after a lexeme, which is its next symbol; text is how it is written.
func (q *query) after(lexeme, text string) *query {
	n := q.with(nil)
	n.follow(lexeme)
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
				n.wanted[i].tables &= q.having[q.want][text]
			}
		}
		n.ends(q.kindIn(n.mayBe(q.word), text))
	case "@table":
		n.table = slices.Index(q.tables, text)
	case "@alias":
		n.enter(text)
	case "@name":
		n.outputs = append(slices.Clip(q.outputs), text)
	}
	return n
}

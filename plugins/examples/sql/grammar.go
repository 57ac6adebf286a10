// SPDX-License-Identifier: MIT

package main

import "strings"

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

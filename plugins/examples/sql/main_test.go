// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

const shop = `{"tables":{"customers":["id","name","city"],"orders":["id","customer_id","total","placed_on"],"items":["order_id","product","price","quantity"]}}`

// typedShop is the shop with types. Of codes nothing is known, and the names of two tables differ
// in kind.
const typedShop = `{"tables":{"customers":{"id":"INTEGER","name":"text","city":"varchar(40)"},` +
	`"orders":{"id":"bigint","customer_id":"int","total":"NUMERIC(10, 2)","placed_on":"date"},` +
	`"items":{"order_id":"int","product":"text","price":"real","quantity":"int","code":""},"lines":{"name":"int"},"notes":{"body":"text"}}}`

// pieces are all bytes, longer pieces, and the end.
func pieces() []string {
	list := []string{}
	for b := range 256 {
		list = append(list, string([]byte{byte(b)}))
	}
	list = append(list, strings.Split(`SELECT| SELECT|Select| FROM| from| WHERE| JOIN| ON| GROUP| BY| ORDER| AND| cust|customers| customers|omers| id|id| name|name|.id|.name|total|_total|order| orders|orders|s.|o.|c.| c| o|, |(*)|COUNT(| COUNT|SUM(|)|);| = |= '|'Oslo'|Oslo|'s|''| 1|10|100|é|日本| DESC|;| LIMIT| DROP| TABLE|--| --|/*|*/|* |`, "|")...)
	return list // the last one, "", is the end
}

func open(t *testing.T, config string) (*plugintest.Session, []string) {
	t.Helper()
	list := pieces()
	attributes := map[penstock.Token]penstock.Attributes{penstock.Token(len(list) - 1): penstock.AttrEnd}
	return plugintest.Open[sql](t, plugintest.Request{Config: config, Pieces: list, Attributes: attributes}), list
}

// spell is a text in tokens: at each place one of those that fit, drawn.
func spell(random *rand.Rand, list []string, text string) (tokens []penstock.Token) {
	for text != "" {
		var fit []penstock.Token
		for t, piece := range list {
			if piece != "" && strings.HasPrefix(text, piece) && utf8.ValidString(piece) {
				fit = append(fit, penstock.Token(t))
			}
		}
		tokens = append(tokens, fit[random.IntN(len(fit))])
		text = text[len(list[tokens[len(tokens)-1]]):]
	}
	return tokens
}

func allowed(p plugintest.Prepared, t penstock.Token) bool { return p.Mask[t/32]>>(t%32)&1 == 1 }

// valid are queries, each with another part of the language.
var valid = []string{
	"SELECT * FROM orders",
	" select name from customers;",
	"SELECT DISTINCT city FROM customers",
	"SELECT id, name FROM customers WHERE city = 'Oslo'",
	"SELECT name AS who FROM customers ORDER BY who DESC, id",
	"SELECT COUNT(*) FROM orders",
	"SELECT COUNT(DISTINCT customer_id) FROM orders",
	"SELECT customer_id, SUM(total) AS spent FROM orders GROUP BY customer_id HAVING SUM(total) > 100.5 ORDER BY spent DESC LIMIT 10",
	"SELECT c.name FROM customers c",
	"SELECT c.name, o.total FROM customers AS c JOIN orders AS o ON o.customer_id = c.id",
	"SELECT customers.name FROM orders JOIN customers ON customers.id = orders.customer_id WHERE orders.total >= 7",
	"SELECT a.name, b.name FROM customers a INNER JOIN customers b ON a.city = b.city AND a.id <> b.id",
	"SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL",
	"SELECT c.name FROM customers c LEFT OUTER JOIN orders o ON o.customer_id = c.id WHERE o.id IS NOT NULL",
	"SELECT i.product FROM items i RIGHT JOIN orders o ON i.order_id = o.id",
	"SELECT c.city, SUM(i.price * i.quantity) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id GROUP BY c.city",
	"SELECT name FROM customers WHERE name LIKE 'A%'",
	"SELECT name FROM customers WHERE name NOT LIKE '%''s%'",
	"SELECT id FROM orders WHERE total BETWEEN 1 AND 10 AND id > 3",
	"SELECT id FROM orders WHERE id IN (1, 2,3)",
	"SELECT id FROM orders WHERE NOT (id = 1 OR total < -2.5)",
	"SELECT id FROM customers WHERE city NOT IN ('Oslo', '日本') LIMIT 5 OFFSET 10",
	"SELECT total - 1 FROM orders",
	"SELECT (price + 1) * quantity / 2 AS cost FROM items",
	"SELECT MAX(total), MIN(total), AVG(total) FROM orders",
	"SELECT\n  id\nFROM orders\nWHERE total != 0",
	"SELECT 1 FROM orders",
	"SELECT 'x', id FROM orders",
	"SELECT * FROM orders o WHERE o.total > 1",
	"SELECT * FROM orders JOIN items ON items.order_id = orders.id ORDER BY orders.id ASC",
	"SELECT COUNT(id) FROM customers GROUP BY city ORDER BY COUNT(id) DESC",
}

// wrong are texts that are no queries of the shop: what follows the mark may not come there, and
// all before it may.
var wrong = []string{
	"|DROP TABLE orders", "|INSERT INTO orders", "|UPDATE orders", "|DELETE FROM orders", "|WITH x", "|; SELECT",
	"SELECT FROM| orders", // no item
	"SELECT id |name FROM customers",
	"SELECT salary| FROM customers", // it may only be an alias
	"SELECT id FROM |users",
	"SELECT name FROM |orders", // it is another table's
	"SELECT name, |total FROM customers",
	"SELECT customers.|total FROM customers",
	"SELECT customers.name FROM orders WHERE| orders.id = 1",
	"SELECT c.name FROM orders c|;",
	"SELECT c.name, c.|total FROM customers",
	"SELECT c.name FROM customers c WHERE |o.id = 1",
	"SELECT c.name FROM customers c WHERE c.|total = 1",
	"SELECT c.name FROM customers c WHERE n|ame = 'x'", // columns are named in one way
	"SELECT name, c|.id FROM customers",
	"SELECT id FROM orders JOIN| items",
	"SELECT o.id FROM orders o JOIN items o| ON o.id = 1",
	"SELECT id FROM orders WHERE |SUM(total) > 1",
	"SELECT SUM(SUM|(total)) FROM orders",
	"SELECT id FROM orders WHERE total |ORDER BY id",
	"SELECT id FROM orders WHERE c|ity = 'x'",
	"SELECT id FROM orders LIMIT |-1",
	"SELECT id FROM orders LIMIT |id",
	"SELECT id FROM orders;| DROP TABLE orders",
	"SELECT id FROM orders UNION| SELECT id FROM customers",
	"SELECT total -|-1 FROM orders", // a comment
	"SELECT total /|* FROM orders",
	"SELECT id FROM orders WHERE id = (|SELECT id FROM orders)",
	"SELECT id FROM orders WHERE placed_on = 'x|\n'",
	"SELECT id FROM orders ORDER BY |name",
	"SELECT id AS name| FROM orders",
	"SELECT id AS x FROM orders ORDER BY id - |x",
	"SELECT id FROM orders ORDER BY |1",
	"SELECT id FROM orders ORDER BY |SUM(total)",
	"SELECT id FROM orders INTO| x",
	"SELECT |\"id\"",
	"SELECT id FROM orders GROUP |id",
	"SELECT|id FROM orders",
}

// validTyped and wrongTyped are those of the shop with types.
var validTyped = []string{
	"SELECT name FROM customers WHERE city = 'Oslo' AND id = 5",
	"SELECT name FROM lines WHERE name = 5",
	"SELECT c.name FROM customers c WHERE c.name = c.city OR c.id IN (1, 2)",
	"SELECT id FROM orders WHERE placed_on > '2026-01-01' AND total BETWEEN 1 AND id + 2",
	"SELECT MAX(city), COUNT(DISTINCT city), SUM(id) FROM customers GROUP BY name HAVING MAX(city) = 'x' AND COUNT(city) > 1",
	"SELECT o.total * 2 AS twice, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.total - 1 > (o.id + 2) / 3 AND c.name LIKE 'A%'",
	"SELECT SUM(price * quantity), code FROM items WHERE code = 'x' OR code = 5",
	"SELECT code + 1 FROM items GROUP BY code ORDER BY code - 1",
	"SELECT n.body FROM notes n WHERE n.body NOT IN ('a', 'b')",
}

var wrongTyped = []string{
	"SELECT id FROM customers WHERE city = |5",
	"SELECT id FROM customers WHERE id = |'x'",
	"SELECT id FROM customers WHERE id = |city",
	"SELECT id FROM customers WHERE id |LIKE 'x'",
	"SELECT id FROM customers WHERE id NOT |LIKE 'x'",
	"SELECT id FROM customers WHERE city IN (|1)",
	"SELECT id FROM customers WHERE city BETWEEN 'a' AND |1",
	"SELECT id FROM customers WHERE city |+ 1",
	"SELECT id FROM customers WHERE id + |'x'",
	"SELECT id FROM customers WHERE city = |COUNT(id)",
	"SELECT SUM(|'x')",
	"SELECT SUM(city| FROM customers", // it may only be an alias
	"SELECT AVG(id + c|ity",
	"SELECT c.name FROM customers c JOIN orders o ON c.city = o.|total",
	"SELECT SUM(notes|.body) FROM notes",
	"SELECT c.id FROM customers c JOIN notes n ON c.id = |n.body",
	"SELECT city FROM customers GROUP BY city HAVING COUNT(id) > |'x'",
}

func TestSQL_Prepare_AcceptsQueries(t *testing.T) {
	accepts(t, shop, valid)
	accepts(t, typedShop, valid)
	accepts(t, typedShop, validTyped)
}

func accepts(t *testing.T, config string, valid []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for _, query := range valid {
		for range 2 {
			s, list := open(t, config)
			end := penstock.Token(len(list) - 1)
			for _, token := range spell(random, list, query) {
				if !allowed(s.Prepare(), token) {
					t.Fatalf("%q: %q may not come", query, list[token])
				}
				s.Accept(token)
			}
			if !allowed(s.Prepare(), end) {
				t.Errorf("%q may not end", query)
			}
		}
	}
}

func TestSQL_Prepare_RefusesTheFirstWrongByte(t *testing.T) {
	refuses(t, shop, wrong)
	refuses(t, typedShop, wrong)
	refuses(t, typedShop, wrongTyped)
}

func refuses(t *testing.T, config string, wrong []string) {
	t.Helper()
	for _, query := range wrong {
		s, list := open(t, config)
		before, after, _ := strings.Cut(query, "|")
		for _, b := range []byte(before) {
			if !allowed(s.Prepare(), penstock.Token(b)) {
				t.Fatalf("%q: %q may not come", query, b)
			}
			s.Accept(penstock.Token(b))
		}
		mask := s.Prepare()
		for token, piece := range list {
			if piece != "" && strings.HasPrefix(after, piece) && allowed(mask, penstock.Token(token)) {
				t.Errorf("%q: %q may come", query, piece)
			}
		}
	}
}

// A walk of drawn tokens never comes to where none may follow, and each mask has exactly the tokens
// whose bytes may come one after the other.
func TestSQL_Prepare_AsByteByByte(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 40 {
		config := []string{shop, typedShop}[i%2]
		s, list := open(t, config)
		tables, err := json.Parse([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		shop, err := readSchema(tables.Get("tables"))
		if err != nil {
			t.Fatal(err)
		}
		here, written := place{query: newQuery(shop)}, ""
		for range 60 {
			mask, may := s.Prepare(), []penstock.Token(nil)
			for token, piece := range list {
				there, fits := here, piece != ""
				for _, b := range []byte(piece) {
					fits = fits && there.step(b)
				}
				if piece == "" {
					fits = here.whole()
				} else {
					fits = fits && utf8.ValidString(piece)
				}
				if got := allowed(mask, penstock.Token(token)); got != fits && (got || here.size <= mostName-longestNamed && here.length <= mostText-longestText) { // there in small steps
					t.Fatalf("seed %d: after %q, %q: %v, want %v", seed, written, piece, got, fits)
				}
				if allowed(mask, penstock.Token(token)) && piece != "" {
					may = append(may, penstock.Token(token))
				}
			}
			if len(may) == 0 {
				break
			}
			token := may[random.IntN(len(may))]
			for _, b := range []byte(list[token]) {
				here.step(b)
			}
			written += list[token]
			if s.Accept(token).Stop {
				break
			}
		}
	}
}

func TestSQL_Open_RefusesNamesThatNeedQuotes(t *testing.T) {
	for _, config := range []string{`{"tables":{"order":["id"]}}`, `{"tables":{"orders":["id","Group"]}}`, `{"tables":{"a b":["id"]}}`, `{"tables":{"a":["1st"]}}`} {
		if _, err := plugintest.TryOpen[sql](t, plugintest.Request{Config: config, Pieces: pieces()}); !errors.Is(err, plugintest.ErrRefused) {
			t.Errorf("%s is taken: %v", config, err)
		}
	}
}

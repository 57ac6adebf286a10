// SPDX-License-Identifier: MIT

package schema

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/schema"
)

// maxSpellings bounds the orders of members that are tried.
const maxSpellings = 400

// spellings are ways to write a value: as it is, and its members in any order, with the numbers
// that have no fraction written without.
func spellings(t *testing.T, value json.RawMessage) []string {
	t.Helper()
	raw := jsontext.Value(bytes.Clone(value))
	if err := raw.Compact(); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	all := append([]string{string(raw)}, orders(t, value, maxSpellings)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// orders are at most so many ways to write a value.
func orders(t *testing.T, value json.RawMessage, most int) []string {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	token, err := d.ReadToken()
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	switch token.Kind() {
	case '{':
		var members [][]string // ways to write each
		for d.PeekKind() != '}' {
			name, _ := d.ReadValue()
			own := strings.Clone(string(name))
			v, err := d.ReadValue()
			if err != nil {
				t.Fatalf("%s: %v", value, err)
			}
			var ways []string
			for _, text := range orders(t, json.RawMessage(bytes.Clone(v)), most) {
				ways = append(ways, own+":"+text)
			}
			members = append(members, ways)
		}
		var all []string
		permute(members, nil, func(order []string) bool {
			all = append(all, "{"+strings.Join(order, ",")+"}")
			return len(all) < most
		})
		return all
	case '[':
		all := []string{""}
		for comma := ""; d.PeekKind() != ']'; comma = "," {
			v, err := d.ReadValue()
			if err != nil {
				t.Fatalf("%s: %v", value, err)
			}
			var longer []string
			for _, item := range orders(t, json.RawMessage(bytes.Clone(v)), most) {
				for _, head := range all {
					longer = append(longer, head+comma+item)
				}
			}
			all = longer[:min(len(longer), most)]
		}
		for i := range all {
			all[i] = "[" + all[i] + "]"
		}
		return all
	case '0':
		return []string{plainNumber(token.String())}
	}
	return []string{strings.TrimSpace(string(value))}
}

// permute calls try with one way of each part, the parts in each order, until it says stop.
func permute(parts [][]string, head []string, try func(order []string) bool) bool {
	if len(parts) == 0 {
		return try(head)
	}
	for i := range parts {
		rest := slices.Concat(parts[:i], parts[i+1:])
		for _, way := range parts[i] {
			if !permute(rest, append(slices.Clone(head), way), try) {
				return false
			}
		}
	}
	return true
}

// plainNumber writes a number without an exponent, and without a fraction of zeros.
func plainNumber(text string) string {
	r, ok := new(big.Rat).SetString(text)
	switch {
	case !ok || strings.HasPrefix(text, "-0"):
		return text
	case r.IsInt():
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(400), "0")
}

// read makes the grammar of a schema.
func read(document json.RawMessage, o schema.Options) (*grammar.Grammar, error) {
	b := grammar.NewBuilder()
	root, _, err := schema.Read(b, document, o)
	if err != nil {
		return nil, err
	}
	return b.Build(root)
}

// possible reports whether a grammar takes a text.
func possible(t *testing.T, g *grammar.Grammar, text string) bool {
	t.Helper()
	s, ok, err := g.Advance(g.Start(), []byte(text))
	if err != nil {
		t.Fatalf("%.200q: %v", text, err)
	}
	return ok && g.Complete(s)
}

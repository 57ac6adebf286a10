// SPDX-License-Identifier: MIT

package examples

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/tools/steadytest"
)

// A long enum is a schema like any other.
func TestJSONSchema_LargeEnum_Works(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	for _, n := range []int{100, 1000, 5000} {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("item %d of the catalogue", i*7919%n)
		}
		schema := mustJSON(t, map[string]any{"type": "string", "enum": values})
		text, err := generate(t, m, w, schema, 60, rand.New(rand.NewPCG(uint64(n), 3)))
		if err != nil {
			t.Fatalf("%d values: %v", n, err)
		}
		mustFit(t, schema, text)
	}
}

// large are schemas with n values or a twentieth as many names: some that begin and end alike,
// some that have as much in common with the vocabulary as can be.
func large(t *testing.T, w words, n int) map[string][]byte {
	t.Helper()
	alike, apart := make([]string, n), make([]string, n)
	r := rand.New(rand.NewPCG(uint64(n), 7))
	for i := range n {
		alike[i] = fmt.Sprintf("item %d of the catalogue", i*7919%n)
		for range 3 {
			apart[i] += strings.ToValidUTF8(w.Piece(int32(400+r.IntN(len(w)-401))), "")
		}
		apart[i] += fmt.Sprint(i)
	}
	properties := func(names, required []string) []byte {
		p := map[string]any{}
		for i, name := range names[:n/20] {
			p[name] = map[string]any{"type": []string{"integer", "string", "boolean"}[i%3]}
		}
		return mustJSON(t, map[string]any{"type": "object", "properties": p, "required": required})
	}
	return map[string][]byte{
		"enum, alike":             mustJSON(t, map[string]any{"type": "string", "enum": alike}),
		"enum, apart":             mustJSON(t, map[string]any{"enum": apart}),
		"properties, optional":    properties(apart, []string{}),
		"properties, one needed":  properties(apart, apart[:1]),
		"properties, some needed": properties(alike, alike[:10]),
	}
}

// dense is a vocabulary with all words of up to four of 18 letters: each place of a text made of
// them has as many siblings.
func dense() words {
	const letters = "abcdefghijklmnopqr"
	w := newWords()
	w = w[:len(w)-1]
	for i, words := 0, []string{""}; i < 4; i++ {
		var longer []string
		for _, word := range words {
			for _, c := range letters {
				longer = append(longer, word+string(c))
			}
		}
		w, words = append(w, longer...), longer
	}
	return append(w, endOfText)
}

// The texts of a schema and the tokens of a vocabulary can both be many: a call costs what they
// have in common. Two kinds of five are tried with each vocabulary, and all in `make test-long`.
func TestJSONSchema_ManyTextsAndTokens_FitTheFuelWithRoom(t *testing.T) {
	for name, w := range map[string]words{"many": many(), "dense": dense()} {
		m := loaded(t, "json-schema", w)
		schemas := large(t, w, 5000)
		for _, kind := range steadytest.Some(t, slices.Sorted(maps.Keys(schemas)), 2) {
			t.Run(name+"/"+kind, func(t *testing.T) { mustLeaveRoom(t, m, w, schemas[kind]) })
		}
	}
}

// mustLeaveRoom has answers written to a schema, and wants no call to take more than three fifths
// of its fuel.
func mustLeaveRoom(t *testing.T, m *load.Plugin, w words, schema []byte) {
	t.Helper()
	most, memory := map[string]stage.Usage{}, 0
	for seed := range uint64(steadytest.InLongTest(3, 1)) {
		s, err := stage.New(m, plugin.RequestInfo{Config: fmt.Appendf(nil, `{"schema":%s}`, schema), MaxTokens: 1000, ContextSize: 4096})
		if err != nil {
			t.Fatal(err)
		}
		text, err := write(s, w, 1000, rand.New(rand.NewPCG(seed, 9)), func(call string) {
			u := s.Usage()
			memory = max(memory, u.Memory)
			if u.Fuel > most[call].Fuel {
				most[call] = u
			}
		})
		if err != nil {
			t.Errorf("after %.200q: %s", text, plugin.Told(err))
		} else {
			mustFit(t, schema, text)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d bytes of schema, %d KiB of memory", len(schema), memory>>10)
	for call, u := range most {
		t.Logf("%s: %d of %d fuel", call, u.Fuel, u.Limit)
		if 5*u.Fuel > 3*u.Limit {
			t.Errorf("%s took %d of %d fuel; three fifths should do", call, u.Fuel, u.Limit)
		}
	}
}

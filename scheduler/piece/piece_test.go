// SPDX-License-Identifier: MIT

package piece_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

// picture is one by a name.
func picture(name string, rows int) *piece.Piece {
	return &piece.Piece{Shape: piece.Shape{Hash: sha256.Sum256([]byte(name)), Rows: rows, Positions: rows}, Values: make([]float32, rows)}
}

// grid is one that takes fewer positions.
func grid(name string, rows, positions int) *piece.Piece {
	p := picture(name, rows)
	p.Positions, p.Columns = positions, max(1, rows/positions)
	return p
}

func add(t testing.TB, table *piece.Table, p *piece.Piece) []piece.Token {
	t.Helper()
	return must.Get(table.Add(p))(t)
}

// lists are all tokens that somebody has.
func lists(all ...[]piece.Token) func(func([]piece.Token) bool) { return slices.Values(all) }

func TestTable_Add_SameContentSameTokens(t *testing.T) {
	table := piece.NewTable()
	a, b := picture("a", 5), picture("b", 3)
	first, second, again := add(t, table, a), add(t, table, b), add(t, table, picture("a", 5))
	if !slices.Equal(first, again) || first[0] != math.MinInt32 || second[0] != first[4]+1 || len(second) != 3 {
		t.Errorf("a is %v and %v, b is %v", first, again, second)
	}
	if shape, row, ok := table.Shape(second[2]); !ok || row != 2 || shape != b.Shape {
		t.Errorf("the last token of b is row %d of %+v", row, shape)
	}
	if table.Piece(first[1]) == nil {
		t.Error("a is lost")
	}
	for _, none := range []piece.Token{0, 7, second[2] + 1, -1} {
		if _, _, ok := table.Shape(none); ok || table.Piece(none) != nil {
			t.Errorf("token %d is a row", none)
		}
	}
	runtime.KeepAlive([]any{a, b})
}

func TestTable_Add_RefusesShapes(t *testing.T) {
	table := piece.NewTable()
	add(t, table, picture("a", 5))
	for name, s := range map[string]piece.Shape{"none": {}, "no positions": {Rows: 1}, "more positions": {Rows: 2, Positions: 3, Columns: 1},
		"fewer without a grid": {Rows: 3, Positions: 2}, "columns": {Rows: 2, Positions: 2, Columns: 3}, "negative": {Rows: 2, Positions: 2, Columns: -1},
		"another shape": {Hash: sha256.Sum256([]byte("a")), Rows: 4, Positions: 4}} {
		if _, err := table.Add(&piece.Piece{Shape: s}); !errors.Is(err, piece.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := table.Reserve(s); !errors.Is(err, piece.ErrShape) {
			t.Errorf("%s, reserved: %v", name, err)
		}
	}
}

// At the end of the numbers those come again that nobody has any more, and what is larger than any
// gap finds none.
func TestTable_Add_FillsGaps(t *testing.T) {
	table := piece.NewTableFrom(-20)
	a, b, c := picture("a", 8), picture("b", 4), picture("c", 8)
	first, kept := add(t, table, a), add(t, table, b)
	last := add(t, table, c)
	if last[7] != -1 {
		t.Fatalf("the last token is %d", last[7])
	}
	if _, err := table.Add(picture("d", 1)); !errors.Is(err, piece.ErrFull) {
		t.Errorf("a full table: %v", err)
	}
	runtime.KeepAlive([]any{a, b, c})
	gone(t, table, 2, kept, last)
	d, e := add(t, table, picture("d", 5)), add(t, table, picture("e", 3))
	if d[0] != first[0] || e[0] != d[4]+1 {
		t.Errorf("the gap before b has %v and %v", d, e)
	}
	gone(t, table, 2, kept, last)
	if _, err := table.Reserve(picture("f", 9).Shape); !errors.Is(err, piece.ErrFull) {
		t.Errorf("9 rows where 8 are free: %v", err)
	}
	if f := add(t, table, picture("f", 8)); f[0] != first[0] {
		t.Errorf("the gap before b has %v", f)
	}
}

// gone sweeps until so many pieces are left: the collector may take its time.
func gone(t *testing.T, table *piece.Table, left int, held ...[]piece.Token) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if table.Sweep(lists(held...)); piece.Known(table) == left {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d pieces are left of which %d are held", piece.Known(table), left)
}

// What a conversation or a living piece has stays, also where the picture was added twice and the
// first one is gone.
func TestTable_Sweep_KeepsWhatIsHeld(t *testing.T) {
	table := piece.NewTable()
	a, twice := picture("a", 3), picture("b", 3)
	add(t, table, picture("b", 3))
	tokens, same := add(t, table, a), add(t, table, twice)
	add(t, table, picture("c", 3))
	held := add(t, table, picture("d", 3))
	gone(t, table, 3, append([]piece.Token{1, 2}, held...), nil)
	for _, p := range []struct {
		*piece.Piece
		tokens []piece.Token
	}{{a, tokens}, {twice, same}} {
		if got := table.Piece(p.tokens[1]); got != p.Piece {
			t.Errorf("%v has become %v", p.tokens, got)
		}
	}
	if _, row, ok := table.Shape(held[2]); !ok || row != 2 || table.Piece(held[2]) != nil {
		t.Errorf("what a conversation has: row %d, %v", row, ok)
	}
	runtime.KeepAlive([]any{a, twice})
	gone(t, table, 0)
}

func TestTable_Due_WhenItHasDoubled(t *testing.T) {
	table := piece.NewTable()
	var all []*piece.Piece
	due := []int{}
	for i := range 300 {
		all = append(all, picture(fmt.Sprint(i), 1))
		if add(t, table, all[i]); table.Due() {
			due = append(due, i+1)
			table.Sweep(lists())
		}
	}
	if !slices.Equal(due, []int{64, 128, 256}) || piece.Known(table) != 300 {
		t.Errorf("swept with %v entries, %d are left", due, piece.Known(table))
	}
	runtime.KeepAlive(all)
}

func TestTable_Borders(t *testing.T) {
	table := piece.NewTable()
	a, b := picture("a", 3), grid("b", 4, 2)
	rows, cells := add(t, table, a), add(t, table, b)
	tokens := slices.Concat([]piece.Token{1, 2}, rows, cells, []piece.Token{3}) // 2 | 3 | 4 | 1
	for n, want := range []struct{ before, after int }{{0, 0}, {1, 1}, {2, 2}, {2, 5}, {2, 5}, {5, 5}, {5, 9}, {5, 9}, {5, 9}, {9, 9}, {10, 10}} {
		if before, after := table.Border(tokens, n), table.BorderAfter(tokens, n); before != want.before || after != want.after {
			t.Errorf("at %d the borders are %d and %d, not %+v", n, before, after, want)
		}
	}
	if n := table.Positions(tokens); n != 8 {
		t.Errorf("%d positions", n)
	}
	var none *piece.Table
	if none.Border([]piece.Token{1, -1}, 2) != 2 || none.Positions([]piece.Token{1, 2}) != 2 || none.Due() || none.Piece(-1) != nil {
		t.Error("no table")
	}
	runtime.KeepAlive([]any{a, b})
}

func TestTable_Check(t *testing.T) {
	table := piece.NewTable()
	a, b := picture("a", 3), picture("b", 1)
	x, y := add(t, table, a), add(t, table, b)
	seen := 0
	count := func(piece.Shape) error { seen++; return nil }
	if err := table.Check(slices.Concat([]piece.Token{1}, x, x, y, y, []piece.Token{2}), count); err != nil || seen != 4 {
		t.Errorf("%d pieces, %v", seen, err)
	}
	refused := errors.New("not this one")
	for name, c := range map[string]struct {
		tokens []piece.Token
		want   error
	}{
		"a part":       {slices.Concat(x[:2], []piece.Token{1}), piece.ErrCut},
		"the end":      {x[:2], piece.ErrCut},
		"without head": {x[1:], piece.ErrCut},
		"out of order": {[]piece.Token{x[0], x[2], x[1]}, piece.ErrCut},
		"unknown":      {[]piece.Token{1, -1}, piece.ErrUnknown},
	} {
		if err := table.Check(c.tokens, count); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := table.Check(y, func(piece.Shape) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("refused: %v", err)
	}
	runtime.KeepAlive([]any{a, b})
}

// A list of tokens goes to another process by the shapes of its pieces.
func TestTable_Put_WhatPlacesTell(t *testing.T) {
	here, there := piece.NewTable(), piece.NewTable()
	add(t, there, picture("something else", 9))
	a, b := picture("a", 3), grid("b", 4, 2)
	x, y := add(t, here, a), add(t, here, b)
	tokens := slices.Concat(x, []piece.Token{1}, y, y, []piece.Token{2})
	places := here.Locate(tokens)
	moved := make([]piece.Token, len(tokens))
	moved[3], moved[12] = 1, 2
	must.Do(t, there.Put(moved, places))
	for i := range tokens {
		if got, want := there.Word(moved[i]), here.Word(tokens[i]); got != want || (tokens[i] >= 0) != (int32(want) >= 0) {
			t.Errorf("token %d stands for %#x there, for %#x here", i, got, want)
		}
	}
	if slices.Equal(tokens, moved) || !slices.Equal(there.Locate(moved), places) {
		t.Errorf("%v has become %v", tokens, moved)
	}
	for name, bad := range map[string][]piece.Placed{"before": {{At: -1, Shape: a.Shape}}, "behind": {{At: 12, Shape: a.Shape}},
		"over another": {{At: 0, Shape: a.Shape}, {At: 2, Shape: b.Shape}}, "huge": {{At: math.MaxInt, Shape: a.Shape}}, "no shape": {{At: 1}}} {
		if err := there.Put(slices.Clone(moved), bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	runtime.KeepAlive([]any{a, b})
}

// Many goroutines add, look and sweep: each always finds what it holds under the tokens that it
// was given.
func TestTable_Hammer(t *testing.T) {
	table := piece.NewTableFrom(-4000)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 300 {
				p := picture(fmt.Sprint(rng.IntN(40)), 20)
				tokens, err := table.Add(p)
				if err != nil {
					t.Error(err)
					return
				}
				row := rng.IntN(20)
				if shape, at, ok := table.Shape(tokens[row]); !ok || at != row || shape.Hash != p.Hash {
					t.Errorf("row %d is %d of %x, %v", row, at, shape.Hash[:4], ok)
				}
				if got := table.Piece(tokens[row]); got == nil || got.Hash != p.Hash {
					t.Errorf("the piece of token %d is %v", tokens[row], got)
				}
				if rng.IntN(10) == 0 {
					table.Sweep(lists(tokens))
				}
				runtime.KeepAlive(p)
			}
		})
	}
	all.Wait()
}

func BenchmarkTable_Sweep(b *testing.B) {
	table := piece.NewTable()
	p := picture("a", 256)
	tokens := slices.Concat(make([]piece.Token, 400), add(b, table, p), make([]piece.Token, 344))
	for b.Loop() {
		table.Sweep(lists(tokens))
	}
	b.ReportMetric(float64(len(tokens)), "tokens/op")
	runtime.KeepAlive(p)
}

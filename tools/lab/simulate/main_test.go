// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func TestEvents_ComeInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q events
	var last event
	for i := range 10_000 {
		if i%3 < 2 || len(q.heap) == 0 {
			q.add(event{at: max(last.at, 0) + time.Duration(rng.IntN(50))})
			continue
		}
		e := q.take()
		if e.before(&last) {
			t.Fatalf("event %d at %d comes after event %d at %d", e.number, e.at, last.number, last.at)
		}
		last = e
	}
	for len(q.heap) > 0 {
		e := q.take()
		if e.before(&last) {
			t.Fatalf("event %d at %d comes after event %d at %d", e.number, e.at, last.number, last.at)
		}
		last = e
	}
}

func TestHistogram_Quantile_IsWithinABucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h histogram
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(math.Exp(5+3*rng.NormFloat64()) * float64(time.Microsecond))
		h.add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.99, 0.999} {
		want := all[int(q*float64(len(all)))]
		if got := h.quantile(q); got > want || want-got > want/64+time.Microsecond {
			t.Errorf("quantile %v is %v, of the sorted list %v", q, got, want)
		}
	}
	if got := new(histogram).quantile(0.5); got != 0 {
		t.Errorf("of nothing it is %v", got)
	}
}

// TestDigests_AgreeAsFarAsPrompts: as many digests are equal as whole blocks.
func TestDigests_AgreeAsFarAsPrompts(t *testing.T) {
	p := newPopulation(chats, 1)
	a, b := p.converse(1), p.converse(2)
	for _, begin := range []int{0, 1, block - 1, block, 5*block + 7} {
		b.system, a.begin, b.begin, a.told, b.told = a.system, begin, begin, 3*block, 4*block
		x, y := p.prompt(a), p.prompt(b)
		equal := 0
		for equal < len(x) && x[equal] == y[equal] {
			equal++
		}
		if equal != begin {
			t.Fatalf("prompts with %d tokens in common have %d", begin, equal)
		}
		dx, dy := digests(nil, x), digests(nil, y)
		if len(dx) != len(x)/block {
			t.Errorf("%d tokens have %d digests", len(x), len(dx))
		}
		for i := range min(len(dx), len(dy)) {
			if want := (i+1)*block <= begin; (dx[i] == dy[i]) != want {
				t.Errorf("%d tokens in common: digest %d is equal: %t", begin, i, !want)
			}
		}
	}
}

// TestPopulation_IsLikeItsSource: conversations have the lengths that were published, and as many
// turns.
func TestPopulation_IsLikeItsSource(t *testing.T) {
	p := newPopulation(chats, 7)
	const n = 50_000
	var turns, messages, answers, asked float64
	bySystem := map[int]int{}
	for i := range uint64(n) {
		c := p.converse(i + 1)
		bySystem[c.system]++
		turns += float64(c.left+1) / n
		for {
			messages += float64(c.message)
			answers += float64(c.answer)
			asked++
			if c.left == 0 {
				break
			}
			p.follow(c)
		}
	}
	for _, x := range []struct {
		what      string
		got, want float64
	}{{"turns", turns, 2.0}, {"tokens of a message", messages / asked, 69.5}, {"tokens of an answer", answers / asked, 214.5},
		{"times the tenth system prompt's uses are the first's", float64(bySystem[0]) / float64(bySystem[9]), 10}} {
		if math.Abs(x.got/x.want-1) > 0.1 {
			t.Errorf("%s: %.2f, the source has %.2f", x.what, x.got, x.want)
		}
	}
}

// TestTables_NameTheirColumns: every row has as many cells as its head.
func TestTables_NameTheirColumns(t *testing.T) {
	if got, want := strings.Count(new(result).row(), "|"), strings.Count(columns, "|"); got != want {
		t.Errorf("%d cells, %d columns", got, want)
	}
}

func TestFewest_IsEnoughAndNotManyMore(t *testing.T) {
	for needed := 1; needed < 500; needed++ {
		for _, guess := range []int{1, 7, 100, 1000} {
			tried := 0
			got, err := fewest(guess, 1000, func(n int) (bool, error) {
				tried++
				return n >= needed, nil
			})
			if err != nil || got < needed || got-needed >= max(got/precise, 1) {
				t.Errorf("%d are needed, from %d on %d were found (%v)", needed, guess, got, err)
			}
			if none, err := fewest(guess, max(needed-1, guess), func(n int) (bool, error) { return n >= needed, nil }); guess < needed && (none != 0 || err != nil) {
				t.Errorf("%d are needed and fewer allowed: from %d on %d were found (%v)", needed, guess, none, err)
			}
			if tried > 22 {
				t.Errorf("%d are needed: from %d on %d were tried", needed, guess, tried)
			}
		}
	}
}

// TestFleet_FirstMinute_IsLikeLaterOnes: as many messages are sent in the first minutes as in any
// other.
func TestFleet_FirstMinute_IsLikeLaterOnes(t *testing.T) {
	s := smallFleet(random)
	cycle := newPopulation(chats, s.seed).cycle
	s.hardware, s.size, s.users, s.warm = machines[len(machines)-1], 1, 1000, 0
	for _, cycles := range []float64{1, 3} {
		s.measure = time.Duration(cycles * float64(cycle))
		r := must.Get(simulate(s))(t)
		if got := float64(r.ttft.n) / float64(s.users) / cycles; math.Abs(got-1) > 0.1 {
			t.Errorf("in %v cycles of %v each user sent %.2f messages a cycle", cycles, cycle, got)
		}
	}
}

// TestDocument_Fleets_StillHold simulates two rows of docs/scale.md anew. The same program writes
// the same rows. One with another scheduler may differ by as much as chance does; if it differs by
// more, "make simulate" has to write all tables anew.
func TestDocument_Fleets_StillHold(t *testing.T) {
	document := must.Get(os.ReadFile("../../../docs/scale.md"))(t)
	for _, h := range steadytest.Some(t, []*hardware{machines[0], machines[3]}, 1) {
		x := setup{hardware: h, size: 1, policy: random, users: h.users, poll: polling}
		r := must.Get(simulator{seed: defaultSeed, workers: 1}.one(x))(t)
		got := x.fleetRow(r)
		begin := fmt.Sprintf("| %s | 1 | %d | %s |", h.name, h.users, random)
		_, rest, found := strings.Cut(string(document), "\n"+begin)
		want, _, _ := strings.Cut(rest, "\n")
		if !found {
			t.Errorf("docs/scale.md has no row %q", begin)
		} else if !similar(strings.Fields(got), strings.Fields(begin+want)) {
			t.Errorf("now it is\n%s\nand docs/scale.md says\n%s\nso \"make simulate\" has to write it anew", got, begin+want)
		}
	}
}

// similar reports whether two rows have the same words, and numbers that differ by no more than a
// quarter or two.
func similar(a, b []string) bool {
	return slices.EqualFunc(a, b, func(a, b string) bool {
		x, errX := strconv.ParseFloat(strings.TrimSuffix(a, "%"), 64)
		y, errY := strconv.ParseFloat(strings.TrimSuffix(b, "%"), 64)
		if errX != nil || errY != nil {
			return a == b
		}
		return math.Abs(x-y) <= max(2, max(x, y)/4)
	})
}

func TestSimilar(t *testing.T) {
	row := "| H100 | 9 | 400 | 50% of 93% |"
	for other, want := range map[string]bool{row: true, "| H100 | 11 | 320 | 52% of 91% |": true, "| H200 | 9 | 400 | 50% of 93% |": false,
		"| H100 | 9 | 290 | 50% of 93% |": false, "| H100 | 9 | 400 | 30% of 93% |": false, "| H100 | 9 | 400 |": false} {
		if got := similar(strings.Fields(row), strings.Fields(other)); got != want {
			t.Errorf("%q is similar to %q: %t", other, row, got)
		}
	}
}

// SPDX-License-Identifier: MIT

package estimator

import (
	"testing"
	"time"
)

// knowing is an estimator that has seen passes of all sizes up to 64 tokens.
func knowing(separate bool, cost func(tokens int) time.Duration) *Estimator {
	e := New(separate)
	for n := 1; n <= 64; n++ {
		for range 20 {
			e.ObserveDecode(Pass{Tokens: n}, cost(n))
			e.ObserveVerify(Pass{Tokens: n}, cost(n))
		}
	}
	return e
}

func TestDrafts_Choose(t *testing.T) {
	ms := func(fixed, token float64) func(int) time.Duration {
		return func(n int) time.Duration {
			return time.Duration((fixed + token*float64(n)) * float64(time.Millisecond))
		}
	}
	offer := func(chance float64) Offer { return Offer{Chance: chance, Tokens: 32, Budget: time.Second} }
	sure, fair, poor, indebted := offer(0.98), offer(0.6), offer(0.05), Offer{Chance: 0.9, Tokens: 32, Budget: -time.Millisecond}
	careful := Offer{Chance: 0.9, Tokens: 32, Budget: 100 * time.Microsecond} // a tenth of what two tokens cost
	for name, c := range map[string]struct {
		slots    int
		offers   []Offer
		cost     func(int) time.Duration
		separate bool
		target   time.Duration
		n        int
		from, to int // the length
	}{
		"rows cost nothing":                  {1, []Offer{sure}, ms(10, 0), false, time.Second, 1, 30, 32},
		"rows cost little, it is sure":       {1, []Offer{sure}, ms(10, 0.5), false, time.Second, 1, 10, 32},
		"rows cost little, it is fair":       {1, []Offer{fair}, ms(10, 0.5), false, time.Second, 1, 2, 6},
		"rows cost little, it is poor":       {1, []Offer{poor}, ms(10, 1), false, time.Second, 0, 0, 0},
		"rows cost as much as passes":        {1, []Offer{sure}, ms(0, 10), false, time.Second, 0, 0, 0},
		"the target bounds it":               {1, []Offer{sure}, ms(10, 1), false, 16 * time.Millisecond, 1, 4, 6},
		"only the sure one":                  {8, []Offer{sure, poor, poor}, ms(10, 0.5), false, time.Second, 1, 4, 32},
		"nothing may be lost":                {1, []Offer{indebted}, ms(10, 0.5), false, time.Second, 0, 0, 0},
		"a debt, and rows cost nothing":      {1, []Offer{indebted}, ms(10, 0), false, time.Second, 1, 30, 32},
		"little may be lost":                 {1, []Offer{careful}, ms(10, 0.5), false, time.Second, 1, 2, 6},
		"a full batch, rows that cost":       {32, []Offer{fair}, ms(1, 1), false, time.Second, 0, 0, 0},
		"one of eight, in a pass of its own": {8, []Offer{fair}, ms(20, 0.1), true, time.Second, 0, 0, 0},
		"all of eight, in separate passes": {8, []Offer{sure, sure, sure, sure, sure, sure, sure, sure}, ms(20, 0.5), true, time.Second,
			8, 3, 4}, // there is room for four of each
	} {
		d := Drafts{Decode: Pass{Tokens: c.slots}, Offers: c.offers, Room: 32, Most: 32, Apart: c.separate, Target: c.target, Estimator: knowing(c.separate, c.cost)}
		if n, length := d.Choose(); n != c.n || length < c.from || length > c.to {
			t.Errorf("%s: %d of %d offers with %d tokens, want %d with %d to %d", name, n, len(c.offers), length, c.n, c.from, c.to)
		}
	}
}

// Before any pass was measured nothing is drafted. After one, a pass twice as large is tried, and
// no larger one at once.
func TestDrafts_Choose_TriesSizesStepByStep(t *testing.T) {
	e := New(false)
	d := Drafts{Decode: Pass{Tokens: 1}, Offers: []Offer{{Chance: 0.95, Tokens: 32, Budget: time.Second}}, Room: 32, Most: 32, Target: time.Second, Estimator: e}
	if n, length := d.Choose(); n != 0 || length != 0 {
		t.Errorf("%d with %d before anything is known", n, length)
	}
	e.ObserveDecode(Pass{Tokens: 1}, 10*time.Millisecond)
	for choices, last := 0, 0; last < 23; choices++ {
		n, length := d.Choose()
		if n != 1 || length > 2*last+1 || choices > 200 {
			t.Fatalf("choice %d, after %d: %d with %d", choices, last, n, length)
		}
		last = max(last, length)
		for range 10 {
			e.ObserveVerify(Pass{Tokens: 1 + length}, 11*time.Millisecond)
		}
	}
}

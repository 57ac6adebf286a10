// SPDX-License-Identifier: MIT

package estimator

import (
	"math"
	"time"
)

// Drafts is what a tick without prompts may compute besides its decode tokens: drafted tokens of
// some slots, each of which is an answer's next one with some chance.
type Drafts struct {
	Decode Pass // the decode tokens, one for each generating slot
	Offers []*Offer
	Room   int  // drafted tokens that the pass can carry
	Most   int  // of one slot
	Apart  bool // slots with drafts have a pass of their own
	Alike  bool // all drafts must have as many tokens

	Costs     time.Duration // of a token, for the drafter to guess it of all slots
	Target    time.Duration // the tick is not to take longer because of drafts
	Estimator *Estimator
}

// Offer is the draft of one slot.
type Offer struct {
	Chance float64 // that a drafted token is right if those before it are
	Tokens int
	Budget time.Duration // that may be lost with it

	Take int     // tokens of it that are to be computed: set by Choose
	gain float64 // tokens that are expected of the length that Choose looks at; 0: it does not pay
}

const (
	leastGain    = 1.03 // what drafts must promise of the rate without them
	leastChance  = 0.02 // that a drafted token counts, for it to be worth a thought
	optimism     = 0.25 // the part of a token's cost that counts in passes larger than any so far
	exploreDraft = 32   // choices, after which the length that was the best so far is left out once
)

// Expected is how many of so many drafted tokens will be right.
func Expected(chance float64, tokens int) float64 {
	return chance * (1 - math.Pow(chance, float64(tokens))) / (1 - chance)
}

// Choose takes the offers with which the most tokens are to be expected in the time of the tick.
// Each must be worth its part of what the tick takes longer, and its budget must bear what is
// likely to be lost. All have one length, as far as they go: passes with as many rows of each slot
// are computed best. Now and then that is the second best: what it costs may have changed, or its
// first pass may have been disturbed.
//
// Where no draft seems to pay, one token each is tried as if it were sure, if the budget bears that
// it is wrong: the text may have come to a part that repeats.
func (d *Drafts) Choose() {
	for _, o := range d.Offers {
		o.Take = 0
		o.Tokens = min(o.Tokens, int(math.Log(leastChance)/math.Log(o.Chance)))
	}
	leftOut := 0
	if d.Estimator.drafts++; d.Estimator.drafts%exploreDraft == 0 {
		leftOut = d.Estimator.length
	}
	if !d.take(d.Most, leftOut, false) {
		d.take(min(d.Most, 1), leftOut, true)
	}
}

// take is Choose for drafts of up to most tokens, and reports whether there are any.
func (d *Drafts) take(most, leftOut int, tried bool) (taken bool) {
	e, slots, alone := d.Estimator, float64(d.Decode.Tokens), d.Estimator.Decode(d.Decode)
	if alone == 0 {
		return false
	}
	best := leastGain * slots / alone.Seconds()
	for _, k := range sizes[1:] { // the first two knots are 1
		if k > most {
			break
		}
		n, took := d.findWorthwhile(k, alone, tried)
		inTime := took <= max(d.Target, alone) || e.length == 0 // what the first of all takes is not known
		if n == 0 || n*k > d.Room || !inTime || k == leftOut {
			continue
		}
		tokens := slots
		for _, o := range d.Offers {
			tokens += o.gain
		}
		if rate := tokens / took.Seconds(); rate > best {
			best, e.length, taken = rate, k, true
			for _, o := range d.Offers {
				if o.Take = 0; o.gain > 0 {
					o.Take = min(k, o.Tokens)
				}
			}
		}
	}
	return taken
}

// findWorthwhile finds the gains of up to k tokens of each offer. It returns how many offers are
// worth their part of what the tick takes longer with all of these, and how long it takes.
func (d *Drafts) findWorthwhile(k int, alone time.Duration, tried bool) (n int, took time.Duration) {
	token := alone.Seconds() / float64(d.Decode.Tokens)
	for _, o := range d.Offers {
		if o.gain = 0; o.Tokens > 0 && (o.Tokens >= k || !d.Alike) {
			o.gain = 1
			n++
		}
	}
	for before := -1; before != n && n > 0; { // each that leaves adds to the price of the others
		before, took = n, d.duration(n, k)
		price := (took - alone) / time.Duration(n)
		for _, o := range d.Offers {
			if o.gain > 0 {
				if o.gain = o.worth(k, price, tried); o.gain*token < price.Seconds() {
					o.gain = 0
				}
				if o.gain == 0 {
					n--
				}
			}
		}
	}
	return n, took
}

// worth is how many of the first k tokens may be right; 0 if the budget does not bear what is
// likely to be lost of their price, or all of it if they are tried.
func (o *Offer) worth(k int, price time.Duration, tried bool) float64 {
	gain, lost := Expected(o.Chance, min(k, o.Tokens)), time.Duration((1-o.Chance)*float64(price))
	if tried {
		gain, lost = 1, price
	}
	if lost > o.Budget {
		return 0
	}
	return gain
}

// duration estimates a tick with up to k drafted tokens of the n offers that have a gain.
func (d *Drafts) duration(n, k int) time.Duration {
	e, depth, rows := d.Estimator, d.Decode.Cells/d.Decode.Tokens, 0
	for _, o := range d.Offers {
		if o.gain > 0 {
			rows += min(k, o.Tokens)
		}
	}
	guessing, cells := time.Duration(k)*d.Costs, rows*(depth+k/2)
	if rest := d.Decode.Tokens - n; d.Apart && rest > 0 {
		return guessing + e.Decode(Pass{rest, rest * depth}) + e.Verify(Pass{n + rows, n*depth + cells})
	}
	return guessing + e.Verify(Pass{d.Decode.Tokens + rows, d.Decode.Cells + cells})
}

// Verify estimates a pass in which slots have several rows. What was not measured is taken from
// passes with a row for each slot, and for a size between two from both of them. Beyond the
// largest so far a token is taken to cost a quarter of what it costs there, so that larger passes
// are tried, each twice as large at most.
func (e *Estimator) Verify(p Pass) time.Duration {
	if e.verify.measured(p.Tokens) {
		return e.verify.predict(p)
	}
	below, above := -1, -1 // the nearest knots that were measured
	for i, size := range sizes {
		if e.measuring(i) == nil {
			continue
		}
		if size > p.Tokens {
			above = i
			break
		}
		below = i
	}
	at := func(i int) (seconds, times float64) {
		pass := Pass{sizes[i], p.Cells * sizes[i] / p.Tokens}
		return e.measuring(i).predict(pass).Seconds(), float64(p.Tokens) / float64(sizes[i])
	}
	seconds := 0.0
	switch {
	case below >= 0 && above >= 0:
		first, _ := at(below)
		last, _ := at(above)
		seconds = first + (last-first)*float64(p.Tokens-sizes[below])/float64(sizes[above]-sizes[below])
	case below >= 0 || above >= 0:
		var times float64
		if seconds, times = at(max(below, above)); times > 1 && times <= 2 {
			times = 1 + optimism*(times-1)
		}
		seconds *= times
	}
	return time.Duration(seconds * float64(time.Second))
}

// measuring is the model that has measured passes of a knot's size; nil if none has. Of two it is
// the one that knows drafts.
func (e *Estimator) measuring(knot int) *model {
	for _, m := range [...]*model{&e.verify, &e.decode} {
		if m.knots[knot].measured {
			return m
		}
	}
	return nil
}

// ObserveVerify learns from a pass in which slots had several rows.
func (e *Estimator) ObserveVerify(p Pass, took time.Duration) { e.verify.observe(p, took) }

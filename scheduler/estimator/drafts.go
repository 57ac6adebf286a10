// SPDX-License-Identifier: MIT

package estimator

import (
	"slices"
	"time"
)

// Drafts is what a tick may compute besides its decode tokens: drafted tokens of some slots, each
// of which is an answer's next one with some chance.
type Drafts struct {
	Decode Pass    // the decode tokens, one for each generating slot
	Offers []Offer // the most likely first
	Room   int     // drafted tokens that the pass can carry
	Most   int     // of one slot
	Apart  bool    // slots with drafts have a pass of their own

	Begun bool // the last pass had drafts as well: the next one without any takes longer in any case

	Costs     time.Duration // of a token, for the drafter to guess it of all slots
	Target    time.Duration // the tick is not to take longer because of drafts
	Estimator *Estimator
}

// Offer is the draft of one slot.
type Offer struct {
	Chance float64 // that a drafted token is right if those before it are
	Tokens int
	Depth  int           // KV cells that the first of them attends to
	Budget time.Duration // that may be lost with it
}

const (
	leastGain    = 1.03 // what drafts must promise of the rate without them
	leastChance  = 0.02 // that a drafted token counts, for it to be worth a thought
	optimism     = 0.5  // the part of a token's cost that counts in passes larger than any so far
	free         = 200  // part of a tick that a draft costs at most of which no budget is asked
	exploreDraft = 16   // choices, after which lengths next to the best one had a turn each
)

// Choose gives how many of the offers are taken, the first ones, and how many tokens of each at
// most: those with which the most tokens are to be expected in the time of the tick, and whose
// budgets bear what is likely to be lost. An offer that cannot bear one token has none after that.
// Offers have one length, since passes with as many rows of each slot are computed best.
func (d *Drafts) Choose() (offers, length int) {
	alone := d.Estimator.decode.predict(d.Decode)
	if alone == 0 || len(d.Offers) == 0 {
		return 0, 0
	}
	one, _ := d.Trial(1, alone)
	if together, _ := d.Trial(min(len(d.Offers), d.Decode.Tokens), alone); together < one { // they may share a pass of their own
		one = together
	}
	for i := range d.Offers {
		if o := &d.Offers[i]; !o.canBear(one, alone) {
			o.Tokens = 0
		}
	}
	slots := float64(d.Decode.Tokens)
	best := leastGain * slots / alone.Seconds()
	for m := min(len(d.Offers), d.Room); m > 0; m /= 2 { // all, or the better half of those
		for _, k := range sizes[1:] { // the first two knots are 1
			if k > min(d.Most, d.Room/m) {
				break
			}
			gain, more := 0.0, false
			for _, o := range d.Offers[:m] {
				gain, more = gain+o.Expected(k), more || o.likely(k)
			}
			if !more {
				break
			}
			t := d.Duration(m, k)
			if rate := (slots + gain) / (t + d.costAfter()).Seconds(); rate > best && d.isAllowed(m, k, t) {
				best, offers, length = rate, m, k
			}
		}
	}
	if length > 0 {
		length = d.explore(offers, length)
	}
	return offers, length
}

// Trial is what a drafted token of each of m slots costs one of them, and whether it makes sense
// to try: if drafts were always right they would pay, and the tick, which takes so long without
// them, keeps the target. What a pass with a few rows more takes is not known before the first
// one: it is tried.
func (d *Drafts) Trial(m int, without time.Duration) (price time.Duration, sensible bool) {
	alone := d.Estimator.decode.predict(d.Decode)
	slots := d.Decode.Tokens
	took := func(k int) time.Duration { return d.passesAlike(m, k) + time.Duration(k)*d.Costs }
	for _, k := range sizes[1:] {
		if k > min(d.Most, d.Room/m) || sensible {
			break
		}
		sensible = float64(slots+m*k)*alone.Seconds() > leastGain*float64(slots)*took(k).Seconds()
	}
	extra := took(1) - alone
	if price = extra; without == alone { // there are no drafts without it
		price += d.costAfter()
	}
	first := without == alone && !(d.Apart && m < slots) && !d.Estimator.verify.measured(slots+m)
	return price / time.Duration(m), sensible && (first || without+extra <= max(d.Target, alone))
}

// Row is what a drafted token adds to the tick where m slots have k of them each, or one if that is
// less, as where passes with k were never measured and seem dear.
func (d *Drafts) Row(m, k int) time.Duration {
	alone := d.Estimator.decode.predict(d.Decode)
	row := func(k int) time.Duration { return max(d.passesAlike(m, k)-alone, 0) / time.Duration(m*k) }
	return min(row(1), row(max(min(k, d.Room/m), 1)))
}

// passesAlike is what the passes of the tick take where m slots, as deep as all are on average,
// have k drafted tokens each.
func (d *Drafts) passesAlike(m, k int) time.Duration {
	depth := d.Decode.Cells / d.Decode.Tokens
	return d.passes(m, Pass{m * k, m * k * (depth + k/2)})
}

// isAllowed reports whether k tokens of each of the first m offers, with which the tick takes t,
// keep the target and the budgets.
func (d *Drafts) isAllowed(m, k int, t time.Duration) bool {
	alone := d.Estimator.decode.predict(d.Decode)
	price := (t + d.costAfter() - alone) / time.Duration(m)
	return t <= max(d.Target, alone) && !slices.ContainsFunc(d.Offers[:m], func(o Offer) bool { return o.Tokens > 0 && !o.canBear(price, alone) })
}

// canBear reports whether the budget covers the part of a price that is likely to be lost, or the
// price is next to nothing beside a tick alone: then a debt forbids nothing.
func (o *Offer) canBear(price, alone time.Duration) bool {
	return price < alone/free || time.Duration((1-o.Chance)*float64(price)) <= o.Budget
}

// costAfter is how much longer the next pass without drafts takes because of drafts in this one.
func (d *Drafts) costAfter() time.Duration {
	if d.Begun {
		return 0
	}
	return d.Estimator.Replan()
}

// Expected is how many of the first k tokens of a draft will be right.
func (o *Offer) Expected(k int) (sum float64) {
	for i, p := 0, o.Chance; i < min(k, o.Tokens); i++ {
		sum, p = sum+p, p*o.Chance
	}
	return sum
}

// likely reports whether the k-th token of a draft may be of use.
func (o *Offer) likely(k int) bool {
	p := 1.0
	for range k {
		p *= o.Chance
	}
	return k <= o.Tokens && p >= leastChance
}

// explore now and then gives a length next to the best one: what that costs may have changed, or
// its first pass may have been disturbed.
func (d *Drafts) explore(offers, length int) int {
	d.Estimator.drafts++
	near := length
	switch d.Estimator.drafts % exploreDraft {
	case 0:
		near += (length + 1) / 2
	case exploreDraft / 2:
		near -= (length + 1) / 2
	}
	if near < 1 || near > min(d.Most, d.Room/offers) || !d.isAllowed(offers, near, d.Duration(offers, near)) {
		return length
	}
	return near
}

// Duration estimates a tick with k drafted tokens of each of the first m offers.
func (d *Drafts) Duration(m, k int) time.Duration {
	if m*k == 0 {
		return d.Estimator.decode.predict(d.Decode)
	}
	drafted := Pass{}
	for _, o := range d.Offers[:m] {
		n := min(k, o.Tokens)
		drafted.Tokens += n
		drafted.Cells += n * (o.Depth + n/2)
	}
	return d.passes(m, drafted) + time.Duration(k)*d.Costs
}

// passes estimates those with the drafted tokens of m slots, and of the other slots.
func (d *Drafts) passes(m int, drafted Pass) time.Duration {
	e := d.Estimator
	if rest := d.Decode.Tokens - m; d.Apart && rest > 0 {
		without := Pass{rest, d.Decode.Cells * rest / d.Decode.Tokens}
		return e.Replan() + e.decode.predict(without) + e.Verify(Pass{drafted.Tokens + m, drafted.Cells + d.Decode.Cells - without.Cells})
	}
	return e.Verify(Pass{d.Decode.Tokens + drafted.Tokens, d.Decode.Cells + drafted.Cells})
}

// Verify estimates a pass in which slots have several rows. What was not measured is taken from
// passes with a row for each slot, and for a size between two from both of them. Beyond the
// largest so far a token is taken to cost half of what it costs there, so that larger passes are
// tried, each twice as large at most.
func (e *Estimator) Verify(p Pass) time.Duration {
	if e.verify.measured(p.Tokens) {
		return e.verify.predict(p)
	}
	below, above := e.nearestKnots(p.Tokens)
	at := func(i int) float64 {
		return e.modelAt(i).predict(Pass{sizes[i], p.Cells * sizes[i] / p.Tokens}).Seconds()
	}
	seconds := 0.0
	switch n := float64(p.Tokens); {
	case below < 0 && above < 0:
	case below < 0:
		seconds = at(above) * n / float64(sizes[above])
	case above < 0 && p.Tokens > 2*sizes[below]: // not at once
		seconds = at(below) * n / float64(sizes[below])
	case above < 0:
		slope := at(below) / float64(sizes[below]) / 2
		if smaller, _ := e.nearestKnots(sizes[below] - 1); smaller >= 0 {
			slope = (at(below) - at(smaller)) / float64(sizes[below]-sizes[smaller])
		}
		seconds = at(below) + optimism*slope*(n-float64(sizes[below]))
	case below == above:
		seconds = at(below)
	default:
		part := (n - float64(sizes[below])) / float64(sizes[above]-sizes[below])
		seconds = at(below) + part*(at(above)-at(below))
	}
	return time.Duration(seconds * float64(time.Second))
}

// nearestKnots gives the nearest measured knots with sizes up to n and from n on; -1: there is
// none.
func (e *Estimator) nearestKnots(n int) (below, above int) {
	below, above = -1, -1
	for i, size := range sizes {
		if e.modelAt(i) == nil {
			continue
		}
		if size <= n {
			below = i
		}
		if size >= n {
			return below, i
		}
	}
	return below, above
}

// modelAt is the model that has measured passes of a knot's size; nil if none has. Of two it is the
// one that knows drafts.
func (e *Estimator) modelAt(knot int) *model {
	switch {
	case e.verify.knots[knot].measured:
		return &e.verify
	case e.decode.knots[knot].measured:
		return &e.decode
	}
	return nil
}

// ObserveVerify learns from a pass in which slots had several rows.
func (e *Estimator) ObserveVerify(p Pass, took time.Duration) { e.verify.observe(p, took) }

// replan is how much longer a pass takes of which llama.cpp has to plan the graph anew: it has
// other numbers of tokens and rows than the pass before. With drafts that is so where they begin,
// which the passes with drafts show, and where they end.
type replan struct {
	took  float64 // seconds
	known bool
}

const replanRate = 0.25 // the part of an error that one pass corrects

// Replan estimates how much longer a pass without drafts takes after one with drafts.
func (e *Estimator) Replan() time.Duration {
	return time.Duration(max(e.replan.took, 0) * float64(time.Second))
}

// ObserveReplan learns from a pass without drafts after one with drafts. One that took longer than
// twice its estimate was disturbed, and counts as so long.
func (e *Estimator) ObserveReplan(p Pass, took time.Duration) {
	alone, r := e.decode.predict(p), &e.replan
	extra := min(took-alone, alone).Seconds()
	if !r.known {
		*r = replan{extra, true}
		return
	}
	r.took += replanRate * (extra - r.took)
}

// SPDX-License-Identifier: MIT

// Package portion divides what is bounded, such as the places of a queue or memory, among callers.
//
// A caller may have half of what the others leave, which is as much as it leaves free itself: the
// dynamic thresholds of Choudhury and Hahne (1998) with an α of 1, by which switches divide their
// memory among queues. Whoever comes first cannot take all of it then: two callers have a third and
// two thirds at most, and one that comes after any number of others finds some left.
package portion

// Pool is a number of places or bytes. It is not safe for concurrent use.
type Pool struct {
	Limit int64 // of all callers
	Least int64 // that each caller may have while there is room
	Free  int64 // that each may have besides its half of the rest

	used int64
	by   map[string]int64 // by callers that have some
}

// Verdict says whether there is room.
type Verdict uint8

// The verdicts of Take.
const (
	Taken  Verdict = iota
	TooFew         // others leave too few
	Enough         // the caller itself has as many as it may
)

// Take takes n for a caller, or nothing. The empty caller is nobody in particular, such as this
// process itself, and may have all there is.
func (p *Pool) Take(caller string, n int64) Verdict {
	own := p.by[caller] + n
	switch {
	case n == 0:
		return Taken
	case caller != "" && own > p.maxShare(caller) && (own > n || n > p.Most()):
		return Enough
	case caller != "" && own > p.maxShare(caller), p.used+n > p.Limit:
		return TooFew
	}
	if p.by == nil {
		p.by = map[string]int64{}
	}
	p.by[caller] = own
	p.used += n
	return Taken
}

// Used is what all callers have.
func (p *Pool) Used() int64 { return p.used }

// Has is what a caller has.
func (p *Pool) Has(caller string) int64 { return p.by[caller] }

// Most is what a caller may have that is alone.
func (p *Pool) Most() int64 { return min(p.Limit, p.beside(0)) }

// maxShare is what a caller may have, while the others have what they have.
func (p *Pool) maxShare(caller string) int64 {
	return p.beside(p.used - p.by[caller])
}

func (p *Pool) beside(others int64) int64 {
	rest := max(0, p.Limit-p.Free-others)
	return max(p.Least, p.Free+rest/2+rest%2)
}

// Give returns n that a caller has taken.
func (p *Pool) Give(caller string, n int64) {
	p.used -= n
	if p.by[caller] -= n; p.by[caller] == 0 {
		delete(p.by, caller)
	}
}

// SPDX-License-Identifier: MIT

package draft

// Chances learn how likely a drafted token is to be right if those before it were, for each grade
// of drafts. What one answer has seen counts more than what all have.
type Chances struct {
	grades [Forced + 1]record
}

// record is what became of the drafts of one grade, the latest counting most.
type record struct {
	right, tried float64 // drafted tokens
}

// first is the chance of a drafted token while nothing is known.
var first = [Forced + 1]float64{0.2, 0.4, 0.6, 0.75, 0.9}

const (
	forget    = 0.85 // of the weight that a draft has after the next one of its answer
	forgetAll = 0.99 // the same for those of all answers
	others    = 1.5  // drafted tokens as which what all answers have seen counts for one
)

// Of is the chance of a drafted token of an answer; all are the chances of all answers.
func (c *Chances) Of(grade int, all *Chances) float64 {
	r, a := &c.grades[grade], &all.grades[grade]
	common := (a.right + 4*first[grade]) / (a.tried + 4)
	return (r.right + others*common) / (r.tried + others)
}

// Learn takes in that of a draft the first so many tokens were right.
func (c *Chances) Learn(grade, drafted, right int, all *Chances) {
	tried := float64(min(right+1, drafted))
	r, a := &c.grades[grade], &all.grades[grade]
	r.right, r.tried = r.right*forget+float64(right), r.tried*forget+tried
	a.right, a.tried = a.right*forgetAll+float64(right), a.tried*forgetAll+tried
}

// SPDX-License-Identifier: MIT

package draft

// Chances learn how likely a drafted token is to be right if those before it were, for each grade of drafts. What one answer has seen counts
// more than what all have.
//
// Where drafts do not seem to pay, one token is tried now and then: the text may have come to a part that repeats. Each trial that fails
// doubles the wait for the next one, of this answer and of those that begin later. After one that was right the next draft is tried at once.
type Chances struct {
	grades  [Grades]record
	wait    int // drafts that are not tried before the next one that is
	backoff int // the wait after that, if it fails; 0: nothing was tried yet
}

// record is what became of the drafts of one grade, the latest counting most.
type record struct {
	right, tried float64 // drafted tokens
}

// first is the chance of a drafted token while nothing is known.
var first = [Grades]float64{0.2, 0.4, 0.6, 0.75}

const (
	forget     = 0.85 // of the weight that a draft has after the next one of its answer
	forgetAll  = 0.99 // the same for those of all answers
	others     = 1.5  // drafted tokens as which what all answers have seen counts for one
	firstWait  = 8
	longestOff = 1024
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
	if right == drafted {
		c.wait, c.backoff, all.backoff = 0, firstWait, firstWait
	}
}

// Due reports whether a draft that does not seem to pay is to be tried all the same. It is asked for each such draft.
func (c *Chances) Due(all *Chances) bool {
	if c.backoff == 0 {
		c.backoff = max(firstWait, all.backoff)
		c.wait = c.backoff
	}
	if c.wait--; c.wait > 0 {
		return false
	}
	c.backoff = min(2*c.backoff, longestOff)
	c.wait, all.backoff = c.backoff, max(all.backoff, c.backoff/2)
	return true
}

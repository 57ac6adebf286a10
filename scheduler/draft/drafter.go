// SPDX-License-Identifier: MIT

package draft

import "time"

// Token is an index into the model's vocabulary.
type Token = int32

// Drafter guesses for many answers in one call. It is called from one goroutine.
type Drafter interface {
	// Draft sets Draft and Grade of each ask. Without a guess the draft is empty.
	Draft(asks []*Ask)
}

// Ask is a question for the next tokens of one answer. Its asker uses the same one again for the
// next question, with the memory of Draft.
type Ask struct {
	Slot    int           // no two asks of a call have the same
	Request uint64        // whose answer it is: another request's context has little to do with the one before it in the slot
	Context []Token       // what the model sees of prompt and answer so far; not to be changed, nor kept after the call
	Most    int           // tokens wanted, at least 1
	Within  time.Duration // the call should take no longer: slots that generate wait for it

	Draft []Token // the guess: at most Most tokens
	Grade int     // how sure it is, below Grades: drafts of one grade are right about as often
}

// Grades is how many grades of drafts there are, the least sure first.
const Grades = 4

// Forced is the grade of drafts that no drafter makes: what the stages of an answer leave no
// choice of.
const Forced = Grades

// Likely is the first of the grades whose drafts are usually right.
const Likely = 2

// SPDX-License-Identifier: MIT

// Package draft guesses how answers go on, so that one forward pass can compute several tokens of
// an answer.
//
// draft.go says what a drafter is and learns how often drafts are right, lookup.go is a drafter
// that finds drafts in the text itself. A draft decides nothing: the answer takes each token from
// the row that the model computes there, and what it does not take is dropped. So a drafter may be
// wrong, but it should be quick.
//
// # How are several rows of one slot drawn, when each depends on the one before?
//
// The backend draws one row of each slot in a call, then the next row of those that go on. So slots
// are drawn in parallel, and a tick without drafts does what it did. A background sampler gets all
// rows and goes on by itself. If the tick cannot wait for it, it keeps a copy of the row that it is
// at; the rows after that are computed again and count as wrong.
//
// # How long is a draft?
//
// As long as promises the most tokens a second (scheduler/estimator/drafts.go). A guessed token is
// worth the chance that it is right times that of those before it; the chance is learned for each
// answer, apart for sure and unsure guesses, and begins with what other answers accepted. What it
// costs is learned as for all passes, so a small or busy machine, a full batch and a kernel that
// likes some numbers of rows all show in it. Drafts have one or two tokens at first, then up to
// twice as many as were right so far. No pass with drafts may exceed itl_target, and there are none
// while prompts wait: their time would pay for it.
//
// # What may guesses lose?
//
// A hundredth of the time that the answer would take without them, and what earlier ones of it
// have saved. That is a budget of each answer: it grows with each token by a hundredth of what a
// pass without drafts takes, a token that was right adds what it saved, and each pass takes away
// what it took longer, right or wrong. A draft is made if the budget bears what is likely to be
// lost; one that loses more leaves a debt, and there are no others until it is paid. So text that
// is never guessed right is slower by a hundredth and by one short draft, on any machine and
// however sure the drafter was. The first draft of an answer, after eight or more tokens that are
// the same, may be at the expense of all answers: else short ones would end before they have earned
// it.
//
// What was learned fades with each tick, and where no draft seems to pay, one token is tried as
// soon as the budget bears that it is wrong: so a text that begins to repeat is noticed. Tests of
// the scheduler hold both sides on virtual time, for processors, GPUs and kernels that compute rows
// in tiles: never right costs 2% at most, always right makes answers twice as fast at least.
//
// # Why do all slots of a pass have drafts of one length, where each sequence has its own cells?
//
// llama.cpp computes as many tokens of each sequence at once as the shortest has, and the rest in
// another pass over the weights. So slots with drafts have a pass of their own with as many rows
// each, and those without another one; padding fills up what is shorter. Whether that pays is
// part of the estimate.
//
// # Why lookup and not llama.cpp's n-gram maps?
//
// The index of scheduler/draft/lookup.go finds the longest match of three or more tokens in a
// fifth of a microsecond, follows rewinds and splices, and says how long the match is, from which
// the length of the draft follows. llama.cpp's ngram-simple searches the whole context for each
// token, its maps wait for matches of 12 or 24 tokens since their drafts are always long, and
// neither knows that tokens were taken back.
//
// # Why are there no MTP, EAGLE3 or DFlash heads?
//
// Such a head guesses from the target's hidden states, of each position of the prompt, too.
// llama.cpp v0.5.0 computes them in a second context, but the calls that hand them on are in
// llama-ext.h, which calls itself staging and subject to change. The states would have to follow
// every pass through rewinds, splices, shared prefixes, preemption and the archive, or be computed
// again after each. And a head with random weights is never right, so no model we could make would
// show that it works. The types that need one are refused with a sentence that names the others,
// and a model that has such layers is served without them.
//
// # How does a draft model fit in?
//
// It is a second engine whose backend computes all slots in the same passes
// (host/engine/draftmodel.go). It remembers which tokens its cache holds of each slot and computes
// what differs, whatever happened in between. A call computes at most 256 tokens of new prompts,
// fewer if the tick would exceed itl_target with them: other slots wait for it. Its memory is
// counted with the model's own when the context is fitted (host/loading/plan.go). What a guessed
// token costs there is measured, and counts when the length is chosen; slots whose guesses do not
// pay are not asked for. The draft is greedy and stops where two tokens are nearly as likely.
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

// Chances learn how likely a drafted token is to be right if those before it were, for each grade
// of drafts, of one answer or of all.
type Chances [Forced + 1]struct{ right, tried float64 }

// first is the chance of a drafted token while nothing is known.
var first = [Forced + 1]float64{0.2, 0.4, 0.6, 0.75, 0.9}

const (
	forget    = 0.85 // of the weight that a draft has after the next one of its answer
	forgetAll = 0.99 // the same for those of all answers
	fade      = 0.98 // the same after a tick
	others    = 1.5  // drafted tokens as which what all answers have seen counts for one
)

// Of is the chance of a drafted token of an answer; all are the chances of all answers.
func (c *Chances) Of(grade int, all *Chances) float64 {
	r, a := &c[grade], &all[grade]
	common := (a.right + 4*first[grade]) / (a.tried + 4)
	return (r.right + others*common) / (r.tried + others)
}

// Learn notes how many of the first tokens of an answer's draft were right.
func (c *Chances) Learn(grade, drafted, right int, all *Chances) {
	tried := float64(min(right+1, drafted))
	r, a := &c[grade], &all[grade]
	r.right, r.tried = r.right*forget+float64(right), r.tried*forget+tried
	a.right, a.tried = a.right*forgetAll+float64(right), a.tried*forgetAll+tried
}

// Fade lets what was learned count for less: a text may begin to repeat.
func (c *Chances) Fade() {
	for i := range c {
		c[i].right, c[i].tried = c[i].right*fade, c[i].tried*fade
	}
}

// SPDX-License-Identifier: MIT

// Package draft guesses how answers go on, so that one forward pass can compute several tokens of
// an answer.
//
// This file says what a drafter is, and learns how often drafts are right; lookup.go is one that
// finds drafts in the text itself. A draft decides nothing: the answer takes each token from the
// row that the model computes there, and what it does not take is dropped. So a drafter may be
// wrong, but it should be quick.
//
// # How are several rows of one slot drawn, when each depends on the one before?
//
// The backend draws one row of each slot in a call, then the next row of those that go on. So slots
// are drawn in parallel, and a tick without drafts does what it did. A background sampler gets all
// rows and goes on by itself. If the tick cannot wait for it, it keeps a copy of the row that it is
// at; the rows after that are computed again. That costs time and nothing else, and since they
// count as wrong, such an answer is soon drafted no more.
//
// # How long is a draft?
//
// As long as promises the most tokens a second. What a guessed token is worth is the chance that
// it is right times that of those before it; the chance is learned for each answer from what it
// accepted, apart for sure and unsure guesses, and begins with what other answers accepted. What
// it costs is learned as for all passes (scheduler/estimator/drafts.go), so a small or busy
// machine, a full batch and a kernel that likes some numbers of rows all show in it. Sizes that
// were never measured are tried, each at most twice as large as the largest before. No tick with
// drafts may exceed itl_target.
//
// # Why are there drafts beside prompts, and so few?
//
// A right token saves its answer a whole tick, and a chunk of a prompt makes ticks long. But the
// time is that of the prompt, whose chunk is smaller by what drafts take. So only an answer has
// them whose drafts were mostly right (a chance of 0.6), two tokens at most, and together they take
// at most a quarter of the time that prompts have. Where the drafter has had no guess for an answer
// of late, it is seldom given time. Nothing is tried there. On virtual time an answer that is
// always guessed right has 2.9 times as many tokens beside a prompt of 8,000, which takes 1%
// longer. Where one pass computes prompts and answers (shared cells) there are none: what such a
// pass takes is learned by its tokens, whether or not they have rows, and drafts all have one.
//
// # What may guesses lose?
//
// A hundredth of the time that the answer would take without them, and what earlier ones of it have
// saved. That is a budget of each answer (Budget), or of all branches of a program that go on by
// themselves: their runs are often too short to earn one. It grows with each token by a hundredth
// of what a pass without drafts takes, a token that was right adds what it saved, and each pass
// takes away what it took longer, right or wrong. A draft is made if the budget bears what it is
// likely to lose; one that loses more leaves a debt, and there are no others until it is paid. So
// text that is never guessed right is slower by a hundredth and by one short draft, on any machine
// and however sure the drafter was. Drafts have one or two tokens at first, then twice as many as
// were right so far. The first one, after eight or more tokens that are the same, may be at the
// expense of the budget of all answers: else short answers would end before they have earned it.
// Where drafts do not seem to pay, one token is tried, one slot in a tick, as often as the budget
// bears that it is wrong. Trials also became rarer once, each one that failed doubling the wait for
// the next. That bounded the same loss a second time: on virtual time text that is never guessed
// lost up to 0.9% with it and up to 1.0% without, and text that begins to repeat took 1.2 times as
// long on two cores. Tests of the scheduler hold both sides on virtual time, for processors, GPUs
// and kernels that compute rows in tiles: never right costs 2% at most, always right makes answers
// twice as fast at least.
//
// llama.cpp plans the graph of a pass anew if the pass before had other numbers of tokens and rows.
// So drafts make two passes longer: their own, and the next one without drafts, by 3% to 8% for a
// model of 135 million parameters and by half for a tiny one. The estimator learns what the second
// takes longer, and the first drafts in a row pay for it: they are chosen if they are worth that,
// too. What such a pass takes is no measure of decoding. It counted as one once: that made what
// answers earn for drafts too much, and what drafts cost too little.
//
// The time of the drafter is paid for by those it was asked for. Where asking for all of them takes
// less than half of what they earn, they are asked for in each tick. Otherwise only for what is
// likely to pay, and for trials. What the drafter takes is believed a little less with each tick:
// after a call that was held up it would seem too dear forever, since nobody would ask it again. A
// draft that costs nothing is made in spite of a debt.
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
// # How does a head guess (MTP)?
//
// A head is one more layer. It reads each token together with the hidden state that the model had
// at the one before, and its output is the token after. llama.cpp computes it in a second context
// of the same model, with cells of its own (native/llama.cpp/shim/head.cpp). After each pass the
// engine hands it the tokens and their states: those of prompts it reads at once, those of answers
// only when a guess is wanted, together with the first step of that guess. So an answer for which
// nobody asks costs it a copy of the states, and what it costs to ask counts as what it costs to
// guess. After 64 tokens for which nobody asked it forgets the text and goes on from there.
//
// The head follows what happens to sequences: dropped drafts, rewinds and splices cut what it has
// read, shared prefixes and forks share it, and a conversation that is put away, in main memory or
// on a disk, has it behind the model's own cells: it is read back with them. Where it cannot know
// the state before a token, as after a picture or where a text was cut, it reads zeros in its
// place. All that this can do is to make a guess worse: each token is still drawn from the model's
// own row.
//
// llama.cpp computes a pass in parts and leaves the states in the order of these parts, and tells
// nobody that order. So the shim divides the batch a second time with llama.cpp's own code, and
// compares the outcome with the order of the rows, which is known. If they differ, the head
// forgets the sequences of that pass.
//
// Of a chain of heads (Step 3.5, MiMo 2) each guesses one token further, from what the ones before
// it have guessed. Each has a layer of the cells, so all read the text, and the guess so far, in
// the same cells: a guess of k tokens computes 1, 2, … k of them. Other models' chains llama.cpp
// does not compute.
//
// Some heads come in files of their own. Gemma 4's assistant has no cells: it attends to those of
// the model, and reads only the last token and its state, so there is nothing to read ahead. An
// EAGLE-3 head reads, in place of the hidden state, the inputs of three layers, which its encoder
// makes one of. They are kept as they are until they are read: most are never asked for.
//
// DFlash reads such inputs, too, but only to fill its cells: each of its layers makes keys and
// values of them. It guesses in one pass that is not causal, over the last token and as many masks
// as tokens are wanted, whose logits are the guess. DSpark adds to each of them what the guess
// before it makes likely. So a long guess takes little longer than a short one. Its passes have 64
// tokens at most, since all have logits: several slots' blocks, of one length, or a part of a
// prompt. DFlash 2, which gives a lattice to choose from, and DSpark for DeepSeek 4, whose cells
// are of another kind, are not used.
//
// # How does a draft model fit in?
//
// It is a second engine whose backend computes all slots in the same passes
// (host/engine/draftmodel.go), so it has padding, layouts and kernels as the first has. It
// remembers which tokens its cache holds of each slot and computes what differs, whatever
// happened in between: rewinds, splices and other requests need no word between the two. A call
// computes at most 256 tokens of new prompts, fewer if the tick would exceed itl_target with
// them, and it ends before a pass for which there is no time: other slots wait for it. Its memory
// is counted with the model's own when the context is fitted (host/loading/plan.go). What a
// guessed token costs there is measured, and counts when the length is chosen; slots whose
// guesses do not pay are not asked for. The draft is greedy and stops where two tokens are nearly
// as likely. To stop where the price of one more token, as each pass was timed, is more than it
// promises was tried, and was slower: on two busy cores (load 12 to 15) a head that is always right
// made 148 to 154 guesses for 320 tokens instead of 281, and 1.2 to 1.3 times the speed instead of
// 1.6.
//
// # Why is a plugin's guess asked for right after a token, and not when it is wanted?
//
// It is wanted by the tick, which waits for nobody. The plugin is called on its answer's background
// sampler, and the tick takes what lies there.
package draft

import (
	"time"
)

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
	Slot     int           // no two asks of a call have the same
	Request  uint64        // whose answer it is: another request's context has little to do with the one before it in the slot
	Sequence int32         // of the backend, in which the model has computed all of the context but for the last token,
	Position int           // which has this position
	Context  []Token       // what the model sees of prompt and answer so far; not to be changed, nor kept after the call
	Most     int           // tokens wanted, at least 1
	Within   time.Duration // the call should take no longer: slots that generate wait for it

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

// Learn notes how many tokens of a draft were right: the first `right` of `drafted`.
func (c *Chances) Learn(grade, drafted, right int, all *Chances) {
	tried := float64(min(right+1, drafted))
	r, a := &c.grades[grade], &all.grades[grade]
	r.right, r.tried = r.right*forget+float64(right), r.tried*forget+tried
	a.right, a.tried = a.right*forgetAll+float64(right), a.tried*forgetAll+tried
}

// Budget is the time that drafts may lose, of one answer or of all: a hundredth of the time that
// its tokens would take without them, and what drafts have saved so far. A draft that loses more
// than there was leaves a debt, and until that is paid there are no others. So text that is never
// guessed right is slower by a hundredth, and by one draft.
type Budget struct{ left time.Duration }

// risked is the part of the time that drafts may lose.
const risked = 100

// Earn adds what tokens may lose that would take so long without drafts.
func (b *Budget) Earn(alone time.Duration) { b.left += alone / risked }

// Settle adds what a draft has saved, or takes away what it has lost.
func (b *Budget) Settle(saved time.Duration) { b.left += saved }

// Left is what drafts may lose now.
func (b *Budget) Left() time.Duration { return b.left }

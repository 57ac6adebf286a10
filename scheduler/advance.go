// SPDX-License-Identifier: MIT

package scheduler

import (
	"fmt"

	"github.com/penstock/penstock/scheduler/chain"
)

// This file is what happens to one job when a token was drawn. It touches nothing but the job, so that a job with
// plugins advances on its own goroutine. The tick then does the rest: see Scheduler.settle.

// outcome is what advancing a job asks of the tick.
type outcome struct {
	events []Event // to be sent
	keep   int     // the KV cache may keep so many of the job's tokens
	ended  bool
	end    End
}

// shownLater is a token in the hold window: a stage may still take it back.
type shownLater struct {
	token Token
	about about
}

// about is what a request wants to know of a token besides its text.
type about struct {
	logprobs *Logprobs
	trace    *chain.Trace
}

// advance takes a drawn token into the answer, or ends the answer at it.
func (j *job) advance(t Token, a about) {
	if t < 0 || int(t) >= j.limits.Vocabulary {
		j.fail(fmt.Errorf("a stage chose token %d, which is not in the vocabulary of %d", t, j.limits.Vocabulary))
		return
	}
	if j.endsAnswer(t) {
		j.generated++
		j.finish(End{Reason: ReasonStop})
		return
	}
	j.grow(t, a, false)
}

func (j *job) endsAnswer(t Token) bool {
	if !j.req.IgnoreEOG && j.vocabulary.EndOfGeneration(t) {
		return true
	}
	for _, stop := range j.req.StopTokens {
		if t == stop {
			return true
		}
	}
	return false
}

// grow appends a token to the answer, tells the stages, and ends the answer where it is the last. A forced token comes
// from a splice: no stage may answer it with another.
func (j *job) grow(t Token, a about, forced bool) {
	j.tokens = append(j.tokens, t)
	j.generated++
	j.computed++
	stop := false
	for i, stage := range j.req.Chain {
		effect, err := stage.Accept(t)
		if err == nil && effect.Splice && forced {
			err = j.refuse(i, chain.ActSplice, errAnswerSplice)
		}
		if err != nil {
			j.fail(err)
			return
		}
		if effect.Splice && !forced && j.splice(i, effect) {
			return
		}
		stop = stop || effect.Stop
	}
	j.later = append(j.later, shownLater{t, a})
	for len(j.later) > j.hold && !j.out.ended {
		j.reveal()
	}
	if j.out.ended {
		return
	}
	switch {
	case stop:
		j.finish(End{Reason: ReasonStop})
	case j.full():
		j.finish(End{Reason: ReasonLength})
	}
}

// splice takes tokens back, the last one included, and forces others. Where that cannot be, the stage is refused, and unless
// that ends the request it returns false: the answer goes on as if the stage had not asked.
func (j *job) splice(by int, e chain.Effect) bool {
	why, err := j.notSpliced(by, e)
	if err == nil && why != nil {
		if err = j.refuse(by, chain.ActSplice, why); err == nil {
			return false
		}
	}
	if err != nil {
		j.fail(err)
		return true
	}
	forced := append(j.forced[:0], e.Tokens...) // the stage's memory is its own again with the next call
	j.forced = forced
	j.later = append(j.later, shownLater{token: j.tokens[len(j.tokens)-1]})
	j.takeBack(e.Backtrack)
	for i, stage := range j.req.Chain { // those after it were not told of the last token either
		if i == by {
			continue
		}
		if err := stage.Rewind(j.tokens, j.prompt); err != nil {
			j.fail(err)
			return true
		}
	}
	for len(j.later) > j.hold && !j.out.ended {
		j.reveal()
	}
	for _, t := range forced {
		switch {
		case j.out.ended:
			return true
		case j.endsAnswer(t):
			j.generated++
			j.finish(End{Reason: ReasonStop})
			return true
		}
		j.grow(t, about{}, true)
	}
	return true
}

// notSpliced is why a splice is not done; nil where it is.
func (j *job) notSpliced(by int, e chain.Effect) (why, err error) {
	if limit := min(j.hold, j.generated); e.Backtrack < 0 || e.Backtrack > limit {
		return fmt.Errorf("%d tokens are taken back; %d may be", e.Backtrack, limit), nil
	}
	if most := j.longest(); j.computed > 2*most+spliceAllowance {
		return fmt.Errorf("%w: %d were computed for an answer of at most %d", ErrSpliceLimit, j.computed, most), nil
	}
	for _, t := range e.Tokens {
		if t < 0 || int(t) >= j.limits.Vocabulary {
			return fmt.Errorf("token %d of the splice is not in the vocabulary of %d", t, j.limits.Vocabulary), nil
		}
	}
	return j.misfit(by, e)
}

// longest is how many tokens the answer can have.
func (j *job) longest() int {
	room := j.limits.longest() - j.prompt
	if j.req.MaxTokens > 0 {
		return min(j.req.MaxTokens, room)
	}
	return room
}

// spliceAllowance is how many tokens beyond twice the longest answer a request with splices may compute.
const spliceAllowance = 256

// takeBack removes the last n tokens of the answer, first those in the hold window.
func (j *job) takeBack(n int) {
	j.tokens = j.tokens[:len(j.tokens)-n]
	j.generated -= n
	j.out.keep = min(j.out.keep, len(j.tokens))
	held := min(n, len(j.later))
	j.later = j.later[:len(j.later)-held]
	if n > held {
		j.text.rewind(n-held, j.tokens[j.prompt:], j.vocabulary)
	}
}

// reveal shows the oldest token of the hold window.
func (j *job) reveal() {
	next := j.later[0]
	j.later = j.later[:copy(j.later, j.later[1:])]
	seen, err := j.text.add(next.token, j.vocabulary.Piece(next.token))
	if err != nil {
		j.fail(fmt.Errorf("a stop rule: %w", err))
		return
	}
	j.out.events = append(j.out.events, Event{Kind: KindToken, Token: next.token, Text: seen.text, Logprobs: next.about.logprobs,
		Trace: next.about.trace})
	if seen.end {
		j.text.drop()
		j.later = j.later[:0]
		j.finish(End{Reason: ReasonStop, Stop: seen.stop})
	}
}

// finish ends the answer; what is in the hold window is final now.
func (j *job) finish(e End) {
	if j.out.ended {
		return
	}
	for len(j.later) > 0 && !j.out.ended {
		j.reveal()
	}
	if !j.out.ended { // a stop string in the window came first
		j.out.ended, j.out.end = true, e
	}
}

// fail ends the answer for an error of a stage or rule.
func (j *job) fail(err error) {
	j.out.ended, j.out.end = true, End{Reason: ReasonError, Err: fmt.Errorf("sampling failed: %w", err)}
}

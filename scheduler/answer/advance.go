// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/chain"
)

// Advance takes a token that was drawn into the answer, or ends the answer at it.
func (a *Answer) Advance(t chain.Token, d Details) {
	a.takeOutputs() // of open, prepare and sample
	a.changed = false
	a.advance(t, d)
	a.takeOutputs()
}

func (a *Answer) advance(t chain.Token, d Details) {
	if size := a.settings.VocabularySize; t < 0 || int(t) >= size {
		a.Fail(fmt.Errorf("a stage chose token %d, which is not in the vocabulary of %d", t, size))
		return
	}
	if a.ends(t) {
		a.endAt(t, d)
		return
	}
	a.grow(t, d, false)
}

// Take takes a token into the answer that a program has chosen, if the answer has not ended, with
// what that says of its log-probability; nil: nothing.
func (a *Answer) Take(t chain.Token, logprob *float32) {
	if a.output.ended() {
		return
	}
	var d Details
	if logprob != nil {
		d.Logprobs = &chain.Logprobs{Token: *logprob}
	}
	a.Advance(t, d)
}

// Finish ends the answer where it is, as one that nothing is missing from, if it has not ended.
func (a *Answer) Finish() {
	a.takeOutputs()
	if !a.output.ended() {
		a.finish(ReasonStop)
	}
}

// Follow takes tokens into the answer that a stage has forced to follow the one that was drawn.
// What ends the answer ends them, and so does a splice: what follows then is not what they were
// meant to follow.
func (a *Answer) Follow(tokens []chain.Token, by int) {
	if why := a.tooLong(tokens); why != nil {
		if err := a.chain.Refuse(by, chain.ActForce, why); err != nil {
			a.Fail(err)
		}
		return
	}
	for _, t := range tokens {
		if a.output.ended() || a.changed || !a.fitsMasks(t, by, chain.ActForce) {
			return
		}
		a.Advance(t, a.origin(chain.Forced, by))
	}
}

// fitsMasks reports whether a token that stage by puts into the answer may come next by the masks
// that bind it. If not, the stage is refused.
func (a *Answer) fitsMasks(t chain.Token, by int, act chain.Act) bool {
	why, err := a.chain.StrictMisfit(by, t)
	if why != nil && err == nil {
		err = a.chain.Refuse(by, act, why)
	}
	if err != nil {
		a.Fail(err)
	}
	return why == nil && err == nil
}

// Along is how many tokens the context has after its first n, if those are the same ones as before
// and all the others are, in order, those of a draft; 0 if the answer has gone another way or has
// ended.
func (a *Answer) Along(n int, draft []chain.Token) int {
	context := a.Context()
	grown := len(context) - n
	if a.output.ended() || a.output.Unchanged < n || grown < 1 || grown > len(draft) || !slices.Equal(context[n:], draft[:grown]) {
		return 0
	}
	return grown
}

// endAt ends the answer at a token that is not part of it. A preserved one is shown all the same.
func (a *Answer) endAt(t chain.Token, d Details) {
	a.generated++
	a.traceTakenBack(d.Trace)
	a.chain.TakeNotes(d.Trace)
	if slices.Contains(a.settings.Preserved, t) {
		a.window = append(a.window, heldToken{t, d})
		a.finish(ReasonStop)
		return
	}
	if a.finish(ReasonStop); a.output.Stop != "" || a.output.Reason != ReasonStop {
		return
	}
	v := a.settings.Vocabulary
	if text := v.ControlText(t); !v.EndOfGeneration(t) && slices.Contains(a.settings.Stop, text) {
		a.output.Stop = text // as if the text were in the answer
		return
	}
	a.output.EndToken = &EndToken{Token: t, Details: d}
}

// ends reports whether a token ends the answer and is not part of it.
func (a *Answer) ends(t chain.Token) bool {
	return !a.settings.IgnoreEOG && a.settings.Vocabulary.EndOfGeneration(t) || slices.Contains(a.settings.StopTokens, t)
}

// grow appends a token to the answer, tells the stages, and ends the answer if it is the last.
// Spliced: the token comes from a splice, which no stage may answer with another.
func (a *Answer) grow(t chain.Token, d Details, spliced bool) {
	a.tokens = append(a.tokens, t)
	a.generated++
	a.computed++
	a.extendContext()
	a.noteLogprobs(d.Logprobs)
	a.traceTakenBack(d.Trace)
	stop, done := a.accept(t, d, spliced)
	if done {
		return
	}
	if a.windowSize == 0 {
		a.show(t, d)
	} else {
		a.window = append(a.window, heldToken{t, d})
		a.showSettled()
	}
	switch {
	case a.output.ended():
	case stop:
		a.finish(ReasonStop)
	case a.full():
		a.finish(ReasonLength)
	}
}

// accept tells the stages of the last token. Done: one has put others in its place, or failed.
func (a *Answer) accept(t chain.Token, d Details, spliced bool) (stop, done bool) {
	for i := range a.chain.Stages() {
		if a.chain.WantsLogprobs() {
			a.chain.TellLogprob(i, d.Logprob)
		}
		effect, err := a.chain.Accept(i, t, d.Trace)
		if err == nil && effect.Splice && spliced {
			err = a.chain.Refuse(i, chain.ActSplice, errAnswerSplice)
		}
		if err != nil {
			a.generated-- // nobody is shown it
			a.Fail(err)
			return false, true
		}
		if effect.Splice && !spliced && a.splice(i, effect, d) {
			return false, true
		}
		stop = stop || effect.Stop
	}
	return stop, false
}

// full reports whether the answer may not grow any more.
func (a *Answer) full() bool {
	return a.settings.MaxTokens > 0 && a.generated >= a.settings.MaxTokens || a.contextFull()
}

// showSettled shows the tokens that no stage can take back any more.
func (a *Answer) showSettled() {
	for len(a.window) > a.windowSize && !a.output.ended() {
		a.showOldest()
	}
}

// showOldest shows the oldest token of the hold window.
func (a *Answer) showOldest() {
	oldest := a.window[0]
	a.window = a.window[:copy(a.window, a.window[1:])]
	a.show(oldest.token, oldest.details)
}

// show shows a token that no stage can take back any more.
func (a *Answer) show(t chain.Token, d Details) {
	seen, err := a.text.add(t, a.settings.Vocabulary.Piece(t))
	if err != nil {
		a.Fail(fmt.Errorf("a stop rule: %w", err))
		return
	}
	s := Shown{Text: seen.text, Token: t, Origin: d.Origin}
	if d.Logprobs != nil || d.Trace != nil {
		s.More = &More{Logprobs: d.Logprobs, Trace: d.Trace}
	}
	a.output.Shown = append(a.output.Shown, s)
	if seen.ends != 0 {
		a.text.discard()
		a.window = a.window[:0]
		a.output.Reason, a.output.Stop = seen.ends, seen.stop
	}
}

// finish ends the answer; what is in the hold window is final now.
func (a *Answer) finish(r Reason) {
	for len(a.window) > 0 && !a.output.ended() {
		a.showOldest()
	}
	if !a.output.ended() { // else a stop string in the window came first
		a.output.Reason = r
	}
}

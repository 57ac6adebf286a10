// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
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
	if a.isEnd(t) {
		a.endAt(t, d)
		return
	}
	a.appendToken(t, d, false)
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

// Finish ends the answer where it is, as one that nothing is missing from, if it has not ended. by
// is the name of who ends it.
func (a *Answer) Finish(by string) {
	a.takeOutputs()
	if !a.output.ended() {
		a.finishBy(by)
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
		if a.output.ended() || a.changed || !a.mayFollow(t, by, chain.ActForce) {
			return
		}
		a.Advance(t, a.tokenOrigin(chain.Forced, by))
	}
}

// mayFollow reports whether a token that stage by puts into the answer may come next by the stages
// that bind it. If not, the stage is refused.
func (a *Answer) mayFollow(t chain.Token, by int, act chain.Act) bool {
	why, err := a.chain.UndrawnMisfit(by, t)
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

// isEnd reports whether a token ends the answer and is not part of it.
func (a *Answer) isEnd(t chain.Token) bool {
	return !a.settings.IgnoreEOG && a.settings.Vocabulary.EndOfGeneration(t) || slices.Contains(a.settings.StopTokens, t)
}

// appendToken appends a token to the answer, tells the stages, and ends the answer if it is the
// last. Spliced: the token comes from a splice, which no stage may answer with another.
func (a *Answer) appendToken(t chain.Token, d Details, spliced bool) {
	a.tokens = append(a.tokens, t)
	a.generated++
	a.computed++
	a.extendContext()
	a.noteLogprobs(d.Logprobs)
	a.traceTakenBack(d.Trace)
	stopper, done := a.tellStages(t, d, spliced)
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
	case stopper >= 0:
		a.finishBy(a.chain.StageName(stopper))
	case a.isFull():
		a.finish(ReasonLength)
	}
}

// tellStages tells the stages of the last token. stopper is the first that ends the answer; -1:
// none does. Done: one has put others in its place, or failed. What a required stage ends, no other
// goes on with.
func (a *Answer) tellStages(t chain.Token, d Details, spliced bool) (stopper int, done bool) {
	stopper = -1
	ended := false
	for _, i := range a.chain.Order() {
		if a.chain.WantsLogprobs() {
			a.chain.TellLogprob(i, d.Logprob)
		}
		effect, err := a.chain.Accept(i, t, d.Trace)
		if ended && !a.chain.Required(i) {
			effect = chain.Effect{}
		}
		if err == nil && effect.Splice && spliced {
			err = a.chain.Refuse(i, chain.ActSplice, errAnswerSplice)
		}
		if err != nil {
			a.generated-- // nobody is shown it
			a.Fail(err)
			return -1, true
		}
		if effect.Splice && !spliced && a.splice(i, effect, d) {
			if ended && !a.output.ended() {
				a.finishBy(a.chain.StageName(stopper))
			}
			return -1, true
		}
		if effect.Stop && stopper < 0 {
			stopper = i
		}
		ended = ended || effect.Stop && a.chain.Required(i)
	}
	return stopper, false
}

// isFull reports whether the answer may not grow any more.
func (a *Answer) isFull() bool {
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
	if seen.text, err = a.filters.show(seen.text, false); err != nil {
		a.Fail(fmt.Errorf("a filter: %w", err))
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
		a.output.Reason, a.output.Stop, a.output.By = seen.ends, seen.stop, seen.by
		a.filterRest()
	}
}

// finish ends the answer; what is in the hold window is final now.
func (a *Answer) finish(r Reason) {
	for len(a.window) > 0 && !a.output.ended() {
		a.showOldest()
	}
	if !a.output.ended() { // else a stop string in the window came first
		a.output.Reason = r
		a.filterRest()
	}
}

// finishBy is finish for an answer that one of those who decide it ends as complete. A stop string
// in the window comes before.
func (a *Answer) finishBy(name string) {
	a.output.By = name
	a.finish(ReasonStop)
}

var errAnswerSplice = errors.New("a splice in answer to a token that was spliced itself")

// spliceAllowance is how many tokens beyond twice the longest answer a request with splices may
// compute.
const spliceAllowance = 256

// splice takes tokens back, the last one included, whose details are given, and puts others in
// their place. If that cannot be, the stage is refused, and unless that ends the request it
// returns false: the answer goes on as if the stage had not asked.
func (a *Answer) splice(by int, e chain.Effect, last Details) bool {
	why, err := a.whyNotSpliced(by, e)
	if err == nil && why != nil {
		if err = a.chain.Refuse(by, chain.ActSplice, why); err == nil {
			return false
		}
	}
	if err != nil {
		a.Fail(err)
		return true
	}
	a.changed = true
	a.chain.TellHiddenStates(nil)                  // the tokens of a splice come without a row
	a.spliced = append(a.spliced[:0], e.Tokens...) // the stage's memory is its own again with the next call
	a.chain.TakeNotes(last.Trace)                  // of stages that are not told of the token
	a.window = append(a.window, heldToken{a.tokens[len(a.tokens)-1], last})
	a.noteTakenBack(a.chain.StageName(by), int(e.Backtrack))
	a.takeBack(int(e.Backtrack))
	if err := a.chain.ResetOthers(by, a.tokens, a.prompt); err != nil { // those after it were not told of the last token either
		a.Fail(err)
		return true
	}
	a.showSettled()
	for _, t := range a.spliced {
		switch {
		case a.output.ended() || !a.mayFollow(t, by, chain.ActSplice):
			return true
		case a.isEnd(t):
			a.endAt(t, a.tokenOrigin(chain.Spliced, by))
			return true
		}
		a.appendToken(t, a.tokenOrigin(chain.Spliced, by), true)
	}
	return true
}

// whyNotSpliced is why a splice is not done; nil if it is.
func (a *Answer) whyNotSpliced(by int, e chain.Effect) (why, err error) {
	if limit := min(a.windowSize, a.generated); e.Backtrack < 0 || int(e.Backtrack) > limit {
		return fmt.Errorf("%d tokens are taken back; %d may be", e.Backtrack, limit), nil
	}
	if most := a.maxTokens(); a.computed > 2*most+spliceAllowance+a.chain.TakeBack() {
		return fmt.Errorf("%w: %d were computed for an answer of at most %d", ErrSpliceLimit, a.computed, most), nil
	}
	if why := a.tooLong(e.Tokens); why != nil {
		return why, nil
	}
	for _, t := range e.Tokens {
		if size := a.settings.VocabularySize; t < 0 || int(t) >= size {
			return fmt.Errorf("token %d of the splice is not in the vocabulary of %d", t, size), nil
		}
	}
	return a.chain.SpliceMisfit(by, e, a.tokens, a.prompt)
}

// tooLong is why a stage may not put that many tokens into the answer at once; nil if it may. An
// answer that outgrows the context may have no other end, and nothing is sent before all of them
// are taken in.
func (a *Answer) tooLong(tokens []chain.Token) error {
	if n, most := len(tokens), a.settings.Longest; a.settings.Shift != nil && n > most {
		return fmt.Errorf("%d tokens at once; the context has room for %d", n, most)
	}
	return nil
}

// maxTokens is how many tokens the answer can have.
func (a *Answer) maxTokens() int {
	most := max(a.settings.Longest-a.prompt, a.generated)
	if a.settings.MaxTokens > 0 {
		return min(a.settings.MaxTokens, most)
	}
	return most
}

// takeBack removes the last n tokens of the answer, first those in the hold window.
func (a *Answer) takeBack(n int) {
	all := a.tokens
	a.tokens = all[:len(all)-n]
	a.generated -= n
	a.forgetLogprobs()
	a.cutContext(n)
	a.output.Unchanged = min(a.output.Unchanged, len(a.Context()))
	held := min(n, len(a.window))
	a.window = a.window[:len(a.window)-held]
	if n > held {
		removed := a.filters.rewind(a.text.rewind(n-held, all[a.prompt:len(all)-held], a.settings.Vocabulary))
		a.output.Shown = append(a.output.Shown, Shown{Text: removed, More: &More{TakenBack: n - held}})
	}
}

// tracedTakenBack is how many tokens that were taken back before a token keep their own trace, the
// last ones: a stage may take back many in one place before it is content.
const tracedTakenBack = 16

// mostTakenBack is how many times are told; the first ones are dropped.
const mostTakenBack = 256

// tokenOrigin gives the details of a token that a stage puts into the answer.
func (a *Answer) tokenOrigin(how chain.Origin, by int) Details {
	if !a.chain.Traced() {
		return Details{Origin: how}
	}
	return Details{Origin: how, Trace: a.chain.Origin(how, a.chain.StageName(by))}
}

// noteTakenBack keeps for the trace of the next token which n tokens are about to be taken back,
// and by whom. What was taken back before those comes first.
func (a *Answer) noteTakenBack(by string, n int) {
	if n == 0 || !a.chain.Traced() {
		return
	}
	taken := chain.TakenBack{By: by, Tokens: make([]chain.TakenToken, n)}
	var earlier []chain.TakenBack
	for i, t := range a.tokens[len(a.tokens)-n:] {
		taken.Tokens[i].Token = t
		at := len(a.window) - n + i
		if at < 0 || a.window[at].details.Trace == nil { // the client has seen it
			continue
		}
		trace := a.window[at].details.Trace
		earlier, trace.TakenBack = append(earlier, trace.TakenBack...), nil
		taken.Tokens[i].Trace = trace
	}
	a.takenBack = append(slices.Concat(earlier, a.takenBack), taken)
	a.takenBack = a.takenBack[max(len(a.takenBack)-mostTakenBack, 0):]
	left := tracedTakenBack
	for i := len(a.takenBack) - 1; i >= 0; i-- {
		tokens := a.takenBack[i].Tokens
		for k := len(tokens) - 1; k >= 0; k-- {
			if left--; left < 0 {
				tokens[k].Trace = nil
			}
		}
	}
}

// traceTakenBack has the trace of the next token tell what was taken back before it.
func (a *Answer) traceTakenBack(trace *chain.Trace) {
	if trace != nil {
		trace.TakenBack, a.takenBack = a.takenBack, nil
	}
}

// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/scheduler/chain"
)

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
	a.chain.TellHiddenState(nil)                   // the tokens of a splice come without a row
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
		case a.output.ended() || !a.fitsMasks(t, by, chain.ActSplice):
			return true
		case a.ends(t):
			a.endAt(t, a.origin(chain.Spliced, by))
			return true
		}
		a.grow(t, a.origin(chain.Spliced, by), true)
	}
	return true
}

// whyNotSpliced is why a splice is not done; nil if it is.
func (a *Answer) whyNotSpliced(by int, e chain.Effect) (why, err error) {
	if limit := min(a.windowSize, a.generated); e.Backtrack < 0 || int(e.Backtrack) > limit {
		return fmt.Errorf("%d tokens are taken back; %d may be", e.Backtrack, limit), nil
	}
	if most := a.most(); a.computed > 2*most+spliceAllowance+a.chain.TakeBack() {
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

// tooLong is why a stage may not put so many tokens into the answer at once; nil if it may. An
// answer that outgrows the context may have no other end, and nothing is sent before all of them
// are taken in.
func (a *Answer) tooLong(tokens []chain.Token) error {
	if n, most := len(tokens), a.settings.Longest; a.settings.Shift != nil && n > most {
		return fmt.Errorf("%d tokens at once; the context has room for %d", n, most)
	}
	return nil
}

// most is how many tokens the answer can have.
func (a *Answer) most() int {
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
		removed := a.text.rewind(n-held, all[a.prompt:len(all)-held], a.settings.Vocabulary)
		a.output.Shown = append(a.output.Shown, Shown{Text: removed, More: &More{TakenBack: n - held}})
	}
}

// SPDX-License-Identifier: MIT

package answer

import "github.com/penstock/penstock/scheduler/chain"

// Shift lets an answer outgrow the context: each time that is full, some of its oldest tokens
// leave it. The stages are not told: for them the conversation goes on. The model computes what is
// left anew, in its new positions.
type Shift struct {
	Keep    int // how many of the first tokens stay; negative: those of the prompt
	Discard int // how many tokens after them leave at a time; 0: half of those that could
}

// leastRoom is how many tokens at the end of a full context are not among those that stay, however
// many are to.
const leastRoom = 4

// Context is what the model is to see of the prompt and the answer: all of it, but for what has
// left it by Settings.Shift.
func (a *Answer) Context() []chain.Token {
	if a.left == 0 {
		return a.tokens
	}
	return a.context
}

// ContextIndex is where in the context a token of the prompt and the answer is, counted from 0, or
// would be if it had not left.
func (a *Answer) ContextIndex(i int) int {
	if a.left == 0 || i <= a.keptTokens() {
		return i
	}
	return max(a.keptTokens(), i-a.left)
}

// Truncated reports whether the context was too short for the answer.
func (a *Answer) Truncated() bool { return a.left > 0 || a.contextFull() }

func (a *Answer) contextFull() bool { return len(a.Context()) >= a.settings.Longest }

// keptTokens is how many of the first tokens stay in the context, without a part of a piece.
func (a *Answer) keptTokens() int {
	keep := a.settings.Shift.Keep
	if keep < 0 {
		keep = a.prompt
	}
	return a.settings.Pieces.Border(a.tokens, max(0, min(keep, a.settings.Longest-leastRoom)))
}

// extendContext adds the last token to the context, which makes room for the next if it is to.
func (a *Answer) extendContext() {
	if a.left > 0 {
		a.context = append(a.context, a.tokens[len(a.tokens)-1])
	}
	if a.settings.Shift != nil && a.contextFull() {
		a.shift(a.left)
	}
}

// cutContext takes as many tokens from the end of the context as were taken back. If the answer is
// then shorter than what has left the context and what stays, it is shifted as it would have been
// before it grew.
func (a *Answer) cutContext(n int) {
	switch {
	case a.left == 0:
	case len(a.context)-n > a.keptTokens():
		a.context = a.context[:len(a.context)-n]
	default:
		a.shift(0)
	}
}

// shift makes tokens leave the context until there is room for another; left is how many are to
// have left it already.
func (a *Answer) shift(left int) {
	keep := a.keptTokens()
	for len(a.tokens)-left >= a.settings.Longest {
		most := len(a.tokens) - left - keep - 1 // the last one is yet to be computed
		discard := a.settings.Shift.Discard
		if discard <= 0 {
			discard = most / 2
		}
		left += max(1, min(discard, most-1))
		left = a.settings.Pieces.BorderAfter(a.tokens, keep+left) - keep // the prompt ends on text, so something is left
	}
	a.output.Unchanged = min(a.output.Unchanged, keep)
	if a.left = left; left == 0 {
		return
	}
	a.context = append(append(a.context[:0], a.tokens[:keep]...), a.tokens[keep+left:]...)
}

// Begun are tokens that an answer begins with, as a fork does, and what is known of them from the
// answer that it was forked from.
type Begun struct {
	Tokens   []chain.Token
	Logprobs []*chain.Logprobs // of the first tokens, nil for one that has none; empty: of none
	Passed   int               // how many of the first tokens the required stages have let pass
}

// BeginWith is Inject of these tokens before Begin, which are told with their log-probabilities.
func (a *Answer) BeginWith(b Begun) {
	a.setEarly(append(a.early, b.Tokens...))
	a.passed = min(b.Passed, len(a.early))
	a.earlyLogprobs = b.Logprobs[:min(len(b.Logprobs), len(a.early))]
}

// Answered is the answer so far, with what waits for it to begin.
func (a *Answer) Answered() Begun {
	tokens := append([]chain.Token{}, a.tokens[a.prompt:]...) // not nil: it has begun, even with none
	return Begun{append(tokens, a.early...), append(append([]*chain.Logprobs(nil), a.logprobs...), a.earlyLogprobs...), len(a.tokens) - a.prompt + a.passed}
}

// noteLogprobs keeps those of the last token for forks, but no row of all tokens: those of a long
// answer would take gigabytes.
func (a *Answer) noteLogprobs(l *chain.Logprobs) {
	if l != nil && l.Row != nil {
		l = &chain.Logprobs{Token: l.Token}
	}
	if l == nil && len(a.logprobs) == 0 {
		return
	}
	for n := len(a.tokens) - a.prompt; len(a.logprobs) < n-1; {
		a.logprobs = append(a.logprobs, nil)
	}
	a.logprobs = append(a.logprobs, l)
}

// forgetLogprobs forgets those of tokens that were taken back.
func (a *Answer) forgetLogprobs() {
	a.logprobs = a.logprobs[:min(len(a.logprobs), len(a.tokens)-a.prompt)]
}

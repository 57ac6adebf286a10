// SPDX-License-Identifier: MIT

package answer

import "github.com/penstock/penstock/scheduler/chain"

// Begun are tokens that an answer begins with, as a fork does, and what is known of them from the
// answer that it was forked from.
type Begun struct {
	Tokens   []chain.Token
	Logprobs []*chain.Logprobs // of the first tokens, nil for one that has none; empty: of none
}

// BeginWith is Inject of these tokens before Begin, which are told with their log-probabilities.
func (a *Answer) BeginWith(b Begun) {
	a.Inject(b.Tokens)
	a.earlyLogprobs = b.Logprobs[:min(len(b.Logprobs), len(a.early))]
}

// Answered is the answer so far, with what waits for it to begin.
func (a *Answer) Answered() Begun {
	tokens := append([]chain.Token{}, a.tokens[a.prompt:]...) // not nil: it has begun, even with none
	return Begun{append(tokens, a.early...), append(append([]*chain.Logprobs(nil), a.logprobs...), a.earlyLogprobs...)}
}

// noteLogprobs keeps those of the last token for forks.
func (a *Answer) noteLogprobs(l *chain.Logprobs) {
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

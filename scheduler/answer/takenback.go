// SPDX-License-Identifier: MIT

package answer

import (
	"slices"

	"github.com/penstock/penstock/scheduler/chain"
)

// tracedTakenBack is how many tokens that were taken back before a token keep their own trace, the
// last ones: a stage may take back many in one place before it is content.
const tracedTakenBack = 16

// mostTakenBack is how many times are told; the first ones are dropped.
const mostTakenBack = 256

// origin are the details of a token that a stage puts into the answer.
func (a *Answer) origin(how chain.Origin, by int) Details {
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

// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"math/rand/v2"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// foreign are the tokens that clients and plugins put into answers.
var foreign = []scheduler.Token{250, 251, 252, 253, 254, 255}

// weaver is a plugin's stage that forces foreign tokens now and then, or takes back some of the
// answer and puts them in its place.
type weaver struct {
	schedulertest.Greedy
	rng     *rand.Rand
	hold    int
	length  int // of the answer
	spliced int // tokens of its own splice that it has yet to be told of
}

func (w *weaver) Traits() chain.Traits {
	return chain.Traits{Prepares: w.hold%2 == 0, Hold: w.hold}
}

func (w *weaver) Native() bool            { return false }
func (w *weaver) Apply(*chain.View) error { return nil }

func (w *weaver) Prepare() (p chain.Prepared, _ error) {
	if w.rng.IntN(20) == 0 {
		p.Forced = foreign[:w.rng.IntN(len(foreign))]
	}
	return p, nil
}

func (w *weaver) Accept(scheduler.Token) (chain.Effect, error) {
	w.length++
	if w.spliced > 0 {
		w.spliced--
		return chain.Effect{}, nil
	}
	if w.hold == 0 || w.rng.IntN(25) > 0 {
		return chain.Effect{}, nil
	}
	e := chain.Effect{Splice: true, Backtrack: int32(w.rng.IntN(min(w.hold, w.length) + 1)), Tokens: foreign[:w.rng.IntN(len(foreign))]}
	w.length -= int(e.Backtrack)
	w.spliced = len(e.Tokens)
	return e, nil
}

func (w *weaver) Reset(history []scheduler.Token, prompt int) error {
	w.length, w.spliced = len(history)-prompt, 0
	return nil
}

// withholder is a stop rule that never ends an answer but holds its text back at times.
type withholder struct{ rng *rand.Rand }

func (w *withholder) Check(scheduler.Token, string) (answer.Verdict, error) {
	return answer.Verdict{Hold: w.rng.IntN(3) > 0}, nil
}

func (*withholder) Close() error { return nil }

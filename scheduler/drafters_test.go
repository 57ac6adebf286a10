// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// seer is a drafter that knows what the model says, and errs now and then.
type seer struct {
	backend *schedulertest.Backend
	rng     *rand.Rand
	errs    float64 // the part of its tokens that are wrong
	sure    bool    // says that each draft is of the highest grade
	asked   int     // answers
	calls   int

	takes  func(call int) time.Duration // for each token of the longest draft; nil: no time
	blocks bool                         // it takes that for all of them together

	wrongUpTo int // tokens of a context up to which errs counts; 0: any number
}

func (d *seer) Draft(asks []*draft.Ask) {
	if d.calls++; d.takes != nil {
		longest := slices.MaxFunc(asks, func(a, b *draft.Ask) int { return a.Most - b.Most }).Most
		if d.blocks {
			longest = 1
		}
		d.backend.Advance(time.Duration(longest) * d.takes(d.calls))
	}
	for _, a := range asks {
		d.asked++
		right := a.Most
		for i := range a.Most { // what follows an error is a guess after that
			if (d.wrongUpTo == 0 || len(a.Context) < d.wrongUpTo) && d.rng.Float64() < d.errs {
				right = i
				break
			}
		}
		a.Draft = append(a.Draft, d.backend.GoesOn(a.Context, right)...)
		for len(a.Draft) < a.Most {
			a.Draft = append(a.Draft, scheduler.Token(1+d.rng.IntN(200)))
		}
		if a.Grade = d.rng.IntN(draft.Grades); d.sure {
			a.Grade = draft.Grades - 1
		}
	}
}

// terse is a seer that guesses few tokens.
type terse struct {
	seer
	most int
}

func (d *terse) Draft(asks []*draft.Ask) {
	d.seer.Draft(asks)
	for _, a := range asks {
		a.Draft = a.Draft[:min(len(a.Draft), d.most)]
	}
}

// fading is a seer that guesses nothing for longer contexts.
type fading struct {
	seer
	upTo int // tokens
}

func (d *fading) Draft(asks []*draft.Ask) {
	d.seer.Draft(asks)
	for _, a := range asks {
		if len(a.Context) > d.upTo {
			a.Draft = a.Draft[:0]
		}
	}
}

// fool is a drafter that guesses anything, also what no model can say, and more than it was asked
// for.
type fool struct {
	rng    *rand.Rand
	panics int // after so many calls; 0: never
	calls  int
}

func (d *fool) Draft(asks []*draft.Ask) {
	d.calls++
	for _, a := range asks {
		for range d.rng.IntN(2 * a.Most) {
			a.Draft = append(a.Draft, scheduler.Token(d.rng.IntN(300)-20))
		}
		a.Grade = d.rng.IntN(9) - 3
		if d.calls == d.panics {
			panic("a drafter that cannot go on")
		}
	}
}

// logOf is where a scheduler with a drafter logs; nil: nothing is to be logged.
func logOf(d draft.Drafter) *slog.Logger {
	if f, ok := d.(*fool); ok && f.panics > 0 {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return nil
}

// anyDrafter is one of any kind.
func anyDrafter(b *schedulertest.Backend, rng *rand.Rand) draft.Drafter {
	own := rand.New(rand.NewPCG(rng.Uint64(), 2))
	switch rng.IntN(6) {
	case 0:
		return &seer{backend: b, rng: own}
	case 1:
		return &seer{backend: b, rng: own, errs: 0.3}
	case 2:
		return &fool{rng: own}
	case 3:
		return &fool{rng: own, panics: 1 + own.IntN(50)}
	case 4:
		return draft.NewLookup(1 + own.IntN(4))
	}
	return nil
}

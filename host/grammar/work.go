// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"runtime"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// This file bounds the work of operations. Callers that cannot wait, such as the tick of a
// scheduler, make brief ones: they end with ErrLater where they would take more than a few steps,
// or would wait for an operation that does.

// ErrLater says that an operation takes more steps than it was given, or waits for one that takes
// long. What it has found out is kept; with more steps it has a result.
var ErrLater = errors.New("to follow the grammar here takes longer than there is time for now")

// MaskWithin is Mask, but takes no more than about steps, of which each is a quarter of a
// microsecond or less. With as many as Mask may take, it is Mask.
//
// # Errors
//
//   - ErrLater: it takes more. What is in mask is of no use.
//   - Those of Mask.
func (g *Grammar) MaskWithin(s State, v *Vocabulary, mask []uint32, steps int) error {
	return g.maskWithin(s, v, mask, briefWork(steps))
}

// TokenWithin is Token, but takes no more than about steps.
//
// # Errors
//
//   - ErrLater: it takes more.
//   - Those of Token.
func (g *Grammar) TokenWithin(s State, v *Vocabulary, token int32, steps int) (State, bool, error) {
	return g.tokenWithin(s, v, token, briefWork(steps))
}

// AdvanceWithin is Advance, but takes no more than about steps.
//
// # Errors
//
//   - ErrLater: it takes more.
//   - Those of Advance.
func (g *Grammar) AdvanceWithin(s State, text []byte, steps int) (State, bool, error) {
	return g.advanceWithin(s, text, briefWork(steps))
}

// work is the budget of an operation, in steps.
type work struct {
	left  int
	held  int  // spent since the grammar's lock was taken
	brief bool // the budget is small, and the operation does not wait for one that takes long
}

func fullWork() *work { return &work{left: maxWork} }

func briefWork(steps int) *work {
	if steps >= maxWork {
		return fullWork()
	}
	return &work{left: steps, brief: true}
}

func (w *work) spend(n int) error {
	w.held += n
	if w.left -= n; w.left >= 0 {
		return nil
	}
	if w.brief {
		return ErrLater
	}
	return ErrAmbiguous
}

// spendIfBrief spends steps for work that is cheap enough to be free in an operation that may wait.
func (w *work) spendIfBrief(n int) error {
	if w.brief {
		return w.spend(n)
	}
	return nil
}

const (
	briefSteps = 2000 // with the lock held, after which brief operations are told that it takes long
	lockTries  = 200  // of a brief operation
)

// lock takes the grammar's lock. A brief operation does not wait for one that takes long.
func (g *Grammar) lock(w *work) error {
	w.held = 0
	if !w.brief {
		g.mu.Lock()
		return nil
	}
	for range lockTries {
		if g.mu.TryLock() {
			return nil
		}
		if g.long.Load() {
			break
		}
		runtime.Gosched()
	}
	return ErrLater
}

func (g *Grammar) unlock() {
	if g.long.Load() {
		g.long.Store(false)
	}
	g.mu.Unlock()
}

// limitAutomata limits each call of the automata to the steps that are left.
func (g *Grammar) limitAutomata(w *work) {
	if w.brief {
		g.automata.Within(max(w.left, 0) * lexemeSteps)
	} else {
		g.automata.Within(maxWork * lexemeSteps)
	}
}

// spendOnAutomata calls f, which uses the automata, and spends its steps: first with few, then, if
// those do not suffice and the operation is not brief, with all that are left.
func (g *Grammar) spendOnAutomata(w *work, f func() error) error {
	before := g.automata.Spent()
	if !w.brief {
		g.automata.Within(briefSteps * lexemeSteps)
	}
	defer g.limitAutomata(w)
	err := f()
	if errors.Is(err, lexeme.ErrTooMuch) {
		if w.brief {
			return ErrLater
		}
		g.long.Store(true)
		g.limitAutomata(w)
		err = f()
	}
	if err == nil {
		err = w.spend((g.automata.Spent() - before) / lexemeSteps)
	}
	return err
}

// prepareStep makes room in the tables for what an operation makes. A brief operation does not:
// forgetting takes long.
func (g *Grammar) prepareStep(w *work, n *node) error {
	if !w.brief {
		return g.makeRoom()
	}
	if g.table.bytes >= g.maxStateBytes || g.isCrowded() {
		return ErrLater
	}
	return w.spend(g.rehomingSteps(n, w.left))
}

// rehomingSteps is about how many steps rehome takes for a node; it stops counting beyond most.
func (g *Grammar) rehomingSteps(n *node, most int) int {
	if n.generation == g.generation || n == dead {
		return 0
	}
	steps := len(n.parses)
	for i := range n.parses {
		for f := n.parses[i].below; f != nil && steps <= most; f = f.below {
			steps++
		}
	}
	return steps
}

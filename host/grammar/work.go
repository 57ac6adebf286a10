// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"runtime"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// This file is for callers that cannot wait: an operation of theirs ends where it would take more
// than a few steps, or where it would wait for another that does.

// ErrLater says that an operation takes more steps than it was given, or waits for another that
// takes long. What it has found out is kept; with more steps it has a result.
var ErrLater = errors.New("to follow the grammar here takes longer than there is time for now")

// MaskWithin is Mask, but takes no more than about so many steps, of which each is a quarter of a
// microsecond or less. With as many as Mask may take, it is Mask.
//
// # Errors
//
//   - ErrLater: it takes more. What is in mask is of no use.
//   - Those of Mask.
func (g *Grammar) MaskWithin(s State, v *Vocabulary, mask []uint32, steps int) error {
	return g.mask(s, v, mask, briefly(steps))
}

// TokenWithin is Token, but takes no more than about so many steps.
//
// # Errors
//
//   - ErrLater: it takes more.
//   - Those of Token.
func (g *Grammar) TokenWithin(s State, v *Vocabulary, token int32, steps int) (State, bool, error) {
	return g.after(s, v, token, briefly(steps))
}

// AdvanceWithin is Advance, but takes no more than about so many steps.
//
// # Errors
//
//   - ErrLater: it takes more.
//   - Those of Advance.
func (g *Grammar) AdvanceWithin(s State, text []byte, steps int) (State, bool, error) {
	return g.advance(s, text, briefly(steps))
}

// work is what is left of an operation's steps.
type work struct {
	left  int
	held  int  // spent since the grammar's lock was taken
	brief bool // there are few of them, and the operation waits for nobody who takes long
}

func unhurried() *work { return &work{left: maxWork} }

func briefly(steps int) *work {
	if steps >= maxWork {
		return unhurried()
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

// also spends what is only counted where there are few steps.
func (w *work) also(n int) error {
	if w.brief {
		return w.spend(n)
	}
	return nil
}

const (
	briefSteps = 2000 // that the lock is held for, before whoever cannot wait is told
	lockTries  = 200  // of whoever cannot wait
)

// lock takes the grammar's lock. A caller that cannot wait does not get it from an operation that
// takes long.
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

// limit has each call of the automata take no more steps than there are.
func (g *Grammar) limit(w *work) {
	if w.brief {
		g.automata.Within(max(w.left, 0) * lexemeSteps)
	} else {
		g.automata.Within(maxWork * lexemeSteps)
	}
}

// lexemes does something with the automata that spends steps: first with few, and if those do not
// suffice and there are more, with as many as there are.
func (g *Grammar) lexemes(w *work, f func() error) error {
	before := g.automata.Spent()
	if !w.brief {
		g.automata.Within(briefSteps * lexemeSteps)
	}
	defer g.limit(w)
	err := f()
	if errors.Is(err, lexeme.ErrTooMuch) {
		if w.brief {
			return ErrLater
		}
		g.long.Store(true)
		g.limit(w)
		err = f()
	}
	if err == nil {
		err = w.spend((g.automata.Spent() - before) / lexemeSteps)
	}
	return err
}

// prepared makes sure that there is room for what an operation makes.
func (g *Grammar) prepared(w *work, n *node) error {
	if !w.brief {
		return g.bound()
	}
	if g.table.bytes >= g.mostKept || g.crowded() { // to forget all takes long
		return ErrLater
	}
	return w.spend(g.moving(n, w.left))
}

// moving is about how many steps it takes to take a node home, no more than most.
func (g *Grammar) moving(n *node, most int) int {
	if n.generation == g.generation || n == dead {
		return 0
	}
	steps := len(n.pairs)
	for i := range n.pairs {
		for f := n.pairs[i].below; f != nil && steps <= most; f = f.below {
			steps++
		}
	}
	return steps
}

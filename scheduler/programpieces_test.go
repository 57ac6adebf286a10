// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// writtenOf has a program write the answer to a request with pictures.
func writtenOf(r scheduler.Request, branches int, main func(*program.Run) error) scheduler.Request {
	r.Chain, r.Program = nil, &program.Program{Main: main, Branches: branches}
	return r
}

// withPictures runs a scheduler in a bubble whose table has two pictures: one that its requests
// have, and one that they do not.
func withPictures(t *testing.T, shape piece.Shape, f func(b bubble, r scheduler.Request, rows, others []scheduler.Token)) {
	table := piece.NewTable()
	p, other := schedulertest.NewPiece("a", shape), schedulertest.NewPiece("b", shape)
	r := show(t, table, 0, p)
	others, err := table.Add(other)
	if err != nil {
		t.Fatal(err)
	}
	c := scheduler.Config{Slots: 8, Pieces: table}
	inBubble(t, scheduler.Limits{}, c, func(b bubble) { f(b, r, r.Prompt[1].Tokens, others) }, func(b *schedulertest.Backend) { b.Pieces = table })
}

// The branches of a program have the pictures of its request, also more of them, and share what is
// computed of those.
func TestProgram_Pieces_InBranches(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			withPictures(t, shape, func(b bubble, r scheduler.Request, rows, _ []scheduler.Token) {
				before := b.host.Tokens
				main := func(run *program.Run) error {
					root, err := run.Open(run.Prompt())
					if err != nil {
						return err
					}
					if err := root.Append(rows, true); err != nil { // the picture again
						return err
					}
					branches := []*program.Branch{root}
					for i := range 3 {
						fork, err := root.Fork()
						if err != nil {
							return err
						}
						if err := fork.Append([]program.Token{program.Token(3 + i), 9}, true); err != nil {
							return err
						}
						branches = append(branches, fork)
					}
					return b.checkForks(run, branches[1:], rows)
				}
				if a := b.read(submit(t, b.Scheduler, writtenOf(r, 4, main))); a.end.Err != nil {
					t.Fatal(a.end.Err)
				}
				if got, want := b.host.Tokens-before, 25+2*shape.Rows+3*2; got > want+3*shape.Rows || got < want {
					t.Errorf("%d tokens computed, not %d", got, want)
				}
			})
		})
	}
}

// checkForks checks that branches which part after a picture say what the model says, and have
// scores where there can be any.
func (b bubble) checkForks(run *program.Run, forks []*program.Branch, rows []scheduler.Token) error {
	if _, err := run.Wait(1, false, forks...); err != nil {
		return err
	}
	for _, f := range forks {
		n := len(f.Tokens())
		if best, err := f.Best(1); err != nil || best.IDs[0] != b.says(f.Tokens()) {
			return errors.Join(err, fmt.Errorf("a fork says %v, the model %d", best.IDs, b.says(f.Tokens())))
		}
		scores, err := f.Scores(n - 2 - len(rows))
		if err != nil {
			return err
		}
		for i, s := range scores {
			if known := s == s; known != (i == len(scores)-1) { // nothing is said of rows, nor after the last one
				return fmt.Errorf("the score of token %d of %d is %v", i, len(scores), s)
			}
		}
		if err := f.Cut(n - 2 - len(rows)); err != nil {
			return err
		}
	}
	_, err := run.Wait(1, false, forks...)
	return err
}

// What would cut a picture, or is none of the request's, is an error of that call and changes
// nothing.
func TestProgram_Pieces_AreNotCut(t *testing.T) {
	withPictures(t, causal, func(b bubble, r scheduler.Request, rows, others []scheduler.Token) {
		main := func(run *program.Run) error {
			root, err := run.Open(run.Prompt())
			if err != nil {
				return err
			}
			n := len(root.Tokens())
			for name, call := range map[string]func() error{
				"a part":       func() error { return root.Append(rows[:10], false) },
				"the end":      func() error { return root.Append(rows[10:], false) },
				"another's":    func() error { return root.Append(others, false) },
				"unknown":      func() error { return root.Append([]program.Token{-1}, false) },
				"open":         func() error { _, err := run.Open(others); return err },
				"cut":          func() error { return root.Cut(30) },
				"ends on it":   func() error { _, err := run.Wait(0, false, mustOpen(run, rows)); return err },
				"runs on it":   func() error { return mustOpen(run, rows).Run(greedy(false), 3, false) },
				"shown":        func() error { return showTokens(run, rows) },
				"adopted":      func() error { return run.Adopt(0, mustOpen(run, append(slices.Clone(rows), 1)), 10) },
				"prompt of it": func() error { return run.Adopt(0, mustOpen(run, append(slices.Clone(rows), 1)), len(rows)) },
			} {
				if err := call(); !errors.Is(err, program.ErrMisuse) {
					t.Errorf("%s: %v", name, err)
				}
				if len(root.Tokens()) != n {
					t.Errorf("%s: the branch has %d tokens, and had %d", name, len(root.Tokens()), n)
				}
			}
			if err := root.Cut(20); err != nil {
				return err
			}
			favourite, err := favourite(run, root)
			if want := b.says(root.Tokens()); err == nil && favourite != want {
				t.Errorf("before the picture %d, the model says %d", favourite, want)
			}
			return err
		}
		if a := b.read(submit(t, b.Scheduler, writtenOf(r, 8, main))); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

// mustOpen opens a branch.
func mustOpen(run *program.Run, tokens []program.Token) *program.Branch {
	b, err := run.Open(tokens)
	if err != nil {
		panic(err)
	}
	return b
}

// An answer that goes on from a program's branch has the pictures of that.
func TestProgram_Adopt_GoesOnWithPictures(t *testing.T) {
	withPictures(t, square, func(b bubble, r scheduler.Request, rows, _ []scheduler.Token) {
		tokens := append(slices.Concat([]scheduler.Token{5, 6}, rows, rows), 7, 8)
		r.MaxTokens = 20
		adopts := r
		adopts.Program = &program.Program{Branches: 1, Main: func(run *program.Run) error {
			branch, err := run.Open(tokens)
			if err != nil {
				return err
			}
			return run.Adopt(0, branch, len(tokens))
		}}
		a := b.read(submit(t, b.Scheduler, adopts))
		if want := b.host.GoesOn(tokens, 20); !slices.Equal(a.tokens, want) || a.end.Reason != answer.ReasonLength {
			t.Errorf("%v, the model says %v: %+v", a.tokens, want, a.end)
		}
	})
}

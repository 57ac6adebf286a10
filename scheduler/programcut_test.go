// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// A program waits for any of two branches, and changes the other one, of which a part is computed.
// Nobody waits for that any more: neither the program nor others, whose prompts are computed in the
// same passes, are the worse for it.
func TestProgram_ChangesABranch_AfterWaitAny(t *testing.T) {
	l := scheduler.Limits{Cells: 2048, Context: 2048, Batch: 64, Rows: 64}
	table, picture := piece.NewTable(), schedulertest.NewPiece("a", piece.Shape{Rows: 12, Positions: 12})
	rows, err := table.Add(picture)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(long *program.Branch, computed int) error{
		"cut to the first token":      func(long *program.Branch, _ int) error { return long.Cut(1) },
		"cut to what is computed":     func(long *program.Branch, computed int) error { return long.Cut(computed) },
		"a picture":                   func(long *program.Branch, _ int) error { return long.Append(rows, false) },
		"cut to before and a picture": func(long *program.Branch, _ int) error { return errors.Join(long.Cut(30), long.Append(rows, false)) },
		"cut and as it was before": func(long *program.Branch, _ int) error {
			last := long.Tokens()[599]
			return errors.Join(long.Cut(599), long.Append([]program.Token{last}, false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, l, scheduler.Config{Slots: 8, Pieces: table}, func(b bubble) {
				var others []*scheduler.Stream
				r := written(20, 1, 3, func(r *program.Run) error {
					short, long := mustOpen(r, r.Prompt()), mustOpen(r, own(600, 3))
					for i := range 3 {
						if _, err := r.Wait(1, true, short, long); err != nil {
							return err
						}
						if err := short.Append([]program.Token{4 + program.Token(i)}, false); err != nil {
							return err
						}
					}
					for i := range 4 { // more than one pass takes, and they come at once
						others = append(others, submit(t, b.Scheduler, request(120, 10+i, 20)))
					}
					if err := change(long, 150); err != nil {
						return err
					}
					if _, err := r.Wait(0, false); err != nil { // for nothing in particular
						return err
					}
					time.Sleep(time.Second)
					if long.Ready() {
						return errors.New("a branch that was changed has a row, and nobody has waited for it")
					}
					third := mustOpen(r, append(append(own(2, 5), rows...), 7))
					if _, err := r.Wait(1, false, third); err != nil {
						return err
					}
					if err := long.Append([]program.Token{5}, false); err != nil {
						return err
					}
					_, err := r.Wait(1, false, long)
					return err
				})
				r.Pieces, r.Program.Tokens = []*piece.Piece{picture}, 2000
				if a := b.read(submit(t, b.Scheduler, r)); a.end.Err != nil {
					t.Error(a.end.Err)
				}
				for i, st := range others {
					if a := b.read(st); a.text != alone(t, request(120, 10+i, 20)).text {
						t.Errorf("request %d of another client has %d tokens: %v", i, len(a.tokens), a.end.Err)
					}
				}
			}, func(b *schedulertest.Backend) { b.Pieces = table })
		})
	}
}

// A program changes the row of a branch, appends a token, cuts it off again and waits: it gets the
// model's row, and not the one that it has changed.
func TestProgram_Cut_ForgetsTheChangedRow(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		st := submit(t, b.Scheduler, written(20, 1, 1, func(r *program.Run) error {
			root := mustOpen(r, r.Prompt())
			says, err := favourite(r, root)
			if err != nil {
				return err
			}
			words := make([]uint32, 8)
			words[0] = 0b1100 // tokens 2 and 3
			if err := root.Mask(words); err != nil {
				return err
			}
			if changed, err := favourite(r, root); err != nil || changed != 2 { // it is there: nothing is computed
				return errors.Join(err, fmt.Errorf("the changed row says %d", changed))
			}
			if err := errors.Join(root.Append([]program.Token{2}, false), root.Cut(20)); err != nil {
				return err
			}
			if root.Ready() {
				return errors.New("a branch that was cut has a row")
			}
			if again, err := favourite(r, root); err != nil || again != says {
				return errors.Join(err, fmt.Errorf("the model says %d, after a token was appended and cut off %d", says, again))
			}
			return nil
		}))
		if a := b.read(st); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

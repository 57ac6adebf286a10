// SPDX-License-Identifier: MIT

package engine

import (
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// Lacks are what llama.cpp cannot do with the model; package model finds it out.
type Lacks struct {
	Together   bool // compute several sequences in one pass
	Selecting  bool // give the logits of some tokens of a pass only
	Truncating bool // drop the end of a sequence
	Sharing    bool // begin a sequence as another
	Saving     bool // put the state of a sequence away and back
}

// apart runs a pass in several where the model cannot take it whole. Each overwrites the logits of the one before, so they are
// copied.
type apart struct {
	sequences, outputs bool // what is not computed together: several sequences; tokens with logits and those without

	part native.Batch // a part of the scheduler's columns
	rows []float32
	n    int // length of a row
}

func (a *apart) needed() bool { return a.sequences || a.outputs }

// decode runs the passes. After an error some may have been computed; the scheduler cleans up what it did not expect.
func (a *apart) decode(c *native.Context, b *scheduler.Batch) error {
	a.rows = a.rows[:0]
	for from := 0; from < b.Len(); {
		to := a.end(b, from)
		a.part = native.Batch{Tokens: b.Tokens[from:to], Positions: b.Positions[from:to], Sequences: b.Sequences[from:to], Outputs: b.Outputs[from:to]}
		if err := c.Decode(&a.part); err != nil {
			return err
		}
		for i := range c.Rows() {
			a.rows = append(a.rows, c.Row(i)...)
		}
		from = to
	}
	return nil
}

// end is where the part that begins at a token ends.
func (a *apart) end(b *scheduler.Batch, from int) int {
	to := from + 1
	for to < b.Len() && (!a.sequences || b.Sequences[to] == b.Sequences[from]) && (!a.outputs || b.Outputs[to] == b.Outputs[from]) {
		to++
	}
	return to
}

// row is a view of row i of the last pass, nil where there is none.
func (a *apart) row(i int) []float32 {
	if i < 0 || (i+1)*a.n > len(a.rows) {
		return nil
	}
	return a.rows[i*a.n : (i+1)*a.n : (i+1)*a.n]
}

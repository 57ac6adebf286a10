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

// piecewise runs a pass as several if the model cannot take it whole. Each overwrites the logits
// of the one before, so they are copied.
type piecewise struct {
	bySequence bool // one sequence at a time
	byOutput   bool // tokens whose logits are wanted and others one after the other

	piece native.Batch // a piece of the scheduler's columns
	rows  []float32    // of all pieces
	n     int          // length of a row
}

func (p *piecewise) needed() bool { return p.bySequence || p.byOutput }

// decode runs the passes. After an error some may have been computed; the scheduler cleans up what
// it did not expect.
func (p *piecewise) decode(c *native.Context, b *scheduler.Batch) error {
	p.rows = p.rows[:0]
	for from := 0; from < b.Len(); {
		to := p.end(b, from)
		p.piece = native.Batch{Tokens: b.Tokens[from:to], Positions: b.Positions[from:to], Sequences: b.Sequences[from:to], Outputs: b.Outputs[from:to]}
		if err := c.Decode(&p.piece); err != nil {
			return err
		}
		for i := range c.Rows() {
			p.rows = append(p.rows, c.Row(i)...)
		}
		from = to
	}
	return nil
}

// end is where the piece that begins at a token ends.
func (p *piecewise) end(b *scheduler.Batch, from int) int {
	to := from + 1
	for to < b.Len() && (!p.bySequence || b.Sequences[to] == b.Sequences[from]) && (!p.byOutput || b.Outputs[to] == b.Outputs[from]) {
		to++
	}
	return to
}

// row is a view of row i of the last pass, nil if there is none.
func (p *piecewise) row(i int) []float32 {
	if i < 0 || (i+1)*p.n > len(p.rows) {
		return nil
	}
	return p.rows[i*p.n : (i+1)*p.n : (i+1)*p.n]
}

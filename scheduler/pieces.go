// SPDX-License-Identifier: MIT

package scheduler

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// This file has pictures and sounds computed. Their rows are tokens below 0 among those of a
// prompt (package piece), so what is done to lists of tokens is done to them. What is different is
// here: rows and tokens are never in one pass, and a piece is not cut.

// Errors of pieces in prompts, all of them ErrBadRequest; compare with errors.Is.
var (
	ErrPieces      = errors.New("the pictures and sounds of the prompt are not those of the request")
	ErrEndsOnPiece = errors.New("the prompt ends on a picture or a sound, and nothing can be said after one: it must end on text")
	ErrPieceSize   = errors.New("a picture or sound that one pass cannot compute")
)

// checkPieces refuses a prompt whose tokens below 0 are not the rows of whole pieces that the
// request has, or that cannot be computed.
func (s *Scheduler) checkPieces(r *Request, prompt []Token) error {
	if prompt[len(prompt)-1] < 0 {
		return fmt.Errorf("%w: %w", ErrBadRequest, ErrEndsOnPiece)
	}
	for _, p := range r.Pieces {
		if _, err := s.config.Pieces.Add(p); err != nil { // so that the table knows it as long as the request lasts
			return fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
		if p.Whole && p.Rows > s.limits.Batch {
			return fmt.Errorf("%w: %w: it has %d rows, which see one another, and a pass takes %d", ErrBadRequest, ErrPieceSize, p.Rows, s.limits.Batch)
		}
	}
	has := 0
	err := s.config.Pieces.Check(prompt, func(shape piece.Shape) error {
		if has++; findPiece(r.Pieces, &shape) == nil {
			return errNotHeld
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", ErrBadRequest, ErrPieces, err)
	case has > 0 && r.PromptLogprobs:
		return fmt.Errorf("%w: log-probabilities of a prompt with pictures or sounds, whose rows have none", ErrBadRequest)
	}
	return nil
}

// heldPieces are the pieces that a program of the job may put into branches. It keeps no
// embeddings.
func (j *job) heldPieces() program.Pieces {
	held := map[[sha256.Size]byte]bool{}
	for _, p := range j.req.Pieces {
		held[p.Hash] = true
	}
	return program.Pieces{Table: j.pieces, Has: func(s piece.Shape) bool { return held[s.Hash] }}
}

// errNotHeld is why a piece cannot be computed that the table knows.
var errNotHeld = errors.New("the request does not have its numbers")

// findPiece is the piece of a shape; nil: it is not among them.
func findPiece(pieces []*piece.Piece, shape *piece.Shape) *piece.Piece {
	if i := slices.IndexFunc(pieces, func(p *piece.Piece) bool { return p.Shape == *shape }); i >= 0 {
		return pieces[i]
	}
	return nil
}

// atPiece reports whether a row of a piece is what is computed next of the branch.
func (b *branch) atPiece() bool {
	return b.job.pieces != nil && b.seq != nil && b.pending() > 0 && b.tokens()[b.computed()] < 0
}

// untilPiece is how many of the next n tokens one pass can compute: those before a piece, or the
// rows that are left of one.
func (b *branch) untilPiece(n int) int {
	if b.job.pieces == nil || n == 0 {
		return n
	}
	next := b.tokens()[b.computed():][:n]
	if shape, row, ok := b.job.pieces.Shape(next[0]); ok {
		return min(shape.Rows-row, n)
	}
	if i := slices.IndexFunc(next, func(t Token) bool { return t < 0 }); i >= 0 {
		return i
	}
	return n
}

// whole is how many rows of the next piece a pass must have, all or none; 0: any number.
func (b *branch) whole() int {
	if !b.atPiece() {
		return 0
	}
	if shape, _, ok := b.job.pieces.Shape(b.tokens()[b.computed()]); ok && shape.Whole {
		return shape.Rows
	}
	return 0
}

// fitWhole is how many of the scheduled tokens of a branch can be computed: none, where they are
// only a part of a whole piece.
func (b *branch) fitWhole() int {
	if n := b.whole(); b.scheduled < n {
		return 0
	}
	return b.scheduled
}

// sameKind is how many of the first branches one pass can compute: of those with the same adapters
// one at a piece, or those before the next.
func sameKind(branches []*branch) int {
	for i, b := range branches {
		switch {
		case b.withKey() != branches[0].withKey():
			return i
		case b.atPiece():
			return max(i, 1)
		}
	}
	return len(branches)
}

// fillPiece puts the scheduled rows of a branch into the batch.
func (s *Scheduler) fillPiece(b *branch) error {
	at, tokens := b.seq.Len(), b.tokens()
	shape, row, ok := b.job.pieces.Shape(tokens[at])
	if ok {
		s.batch.Piece = findPiece(b.job.req.Pieces, &shape)
	}
	if s.batch.Piece == nil {
		return errNotHeld
	}
	b.addTo(&s.cost)
	s.batch.FirstRow, b.outputRow = row, -1
	position := int32(b.seq.Position())
	for _, t := range tokens[at : at+b.scheduled] {
		s.batch.Add(t, position, b.seq.ID(), false)
		if shape.Columns == 0 {
			position++
		}
	}
	return nil
}

// sweepPieces has the table of pieces drop those that nobody has any more. Requests hold theirs.
func (s *Scheduler) sweepPieces() {
	if t := s.config.Pieces; t.Due() {
		t.Sweep(s.cache.Conversations)
	}
}

// textContext is a job's context without rows of pieces, which a drafter does not know. Nobody
// changes it.
func (j *job) textContext() []Token {
	context := j.answer.Context()
	if j.pieces == nil {
		return context
	}
	g := &j.guess
	last := len(context)
	for last > 0 && context[last-1] >= 0 {
		last--
	}
	if last != g.textUpTo { // the context has been shifted, or this is the first time
		g.text, g.textUpTo = g.text[:0], last
		for _, t := range context[:last] {
			if t >= 0 {
				g.text = append(g.text, t)
			}
		}
		g.textBefore = len(g.text)
	}
	g.text = append(g.text[:g.textBefore], context[last:]...)
	return g.text
}

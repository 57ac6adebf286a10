// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/scheduler/piece"
)

// A branch may have pictures and sounds of the request, whose rows are tokens below 0 (package
// piece). They come and go as a whole, and nothing can be said after one: a branch that is waited
// for, or goes on by itself, ends on another token.

// Pieces are those that a request has.
type Pieces struct {
	Table *piece.Table           // nil: the request has none
	Has   func(piece.Shape) bool // called from the program's goroutine
}

var errNoPiece = errors.New("the request does not have that picture or sound")

// check refuses tokens that cannot be put into a branch.
func (o *Options) check(tokens []Token) error {
	rows := false
	for _, t := range tokens {
		rows = rows || t < 0
		if int(t) >= o.Vocabulary || t < 0 && o.Pieces.Table == nil {
			return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrMisuse, t, o.Vocabulary)
		}
	}
	if !rows {
		return nil
	}
	err := o.Pieces.Table.Check(tokens, func(s piece.Shape) error {
		if !o.Pieces.Has(s) {
			return errNoPiece
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMisuse, err)
	}
	return nil
}

// endsOnPiece is why the branch has no row: its last token is a piece's; nil: it is not.
func (b *Branch) endsOnPiece() error {
	if n := len(b.tokens); n > 0 && b.tokens[n-1] < 0 {
		return fmt.Errorf("%w: the branch ends on a picture or a sound, and nothing can be said after one; append a token", ErrMisuse)
	}
	return nil
}

// cuttable is why the branch cannot be cut to n tokens: that would cut a piece; nil: it can.
func (b *Branch) cuttable(n int) error {
	if border := b.run.options.Pieces.Table.Border(b.tokens, n); border != n {
		return fmt.Errorf("%w: a branch is cut to %d tokens, within a picture or a sound that begins after %d", ErrMisuse, n, border)
	}
	return nil
}

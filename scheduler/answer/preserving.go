// SPDX-License-Identifier: MIT

package answer

import (
	"slices"

	"github.com/penstock/penstock/scheduler/chain"
)

// preserving is a vocabulary in which some control tokens show their text.
type preserving struct {
	Vocabulary
	tokens []chain.Token
}

// Piece implements Vocabulary.
func (p preserving) Piece(t chain.Token) string {
	if slices.Contains(p.tokens, t) {
		return p.ControlText(t)
	}
	return p.Vocabulary.Piece(t)
}

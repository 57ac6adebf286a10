// SPDX-License-Identifier: MIT

package native

import "fmt"

// Batch is the input of a forward pass: four columns of equal length, one entry a token. A caller
// may set the columns to slices of its own; Add and Reset reuse their memory.
type Batch struct {
	Tokens       []int32
	Positions    []int32
	Sequences    []int32
	Outputs      []bool // whether the logits after this token are wanted
	HiddenStates bool   // whether the hidden states of these tokens are wanted too; see Context.HiddenState

	// DuringCopy allows a pass over the target of a copy that still runs: whatever it does to that
	// sequence will be undone. Without it, such a pass finishes the copy first.
	DuringCopy bool
}

// Add appends a token.
func (b *Batch) Add(token, position, sequence int32, output bool) {
	b.Tokens = append(b.Tokens, token)
	b.Positions = append(b.Positions, position)
	b.Sequences = append(b.Sequences, sequence)
	b.Outputs = append(b.Outputs, output)
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Tokens, b.Positions = b.Tokens[:0], b.Positions[:0]
	b.Sequences, b.Outputs, b.HiddenStates = b.Sequences[:0], b.Outputs[:0], false
}

func (b *Batch) check() error {
	n := len(b.Tokens)
	if len(b.Positions) != n || len(b.Sequences) != n || len(b.Outputs) != n {
		return fmt.Errorf("decode: %w: the columns of the batch have %d, %d, %d and %d entries", ErrInvalid,
			n, len(b.Positions), len(b.Sequences), len(b.Outputs))
	}
	return nil
}

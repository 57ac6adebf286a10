// SPDX-License-Identifier: MIT

package slotfile

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// savedPiece is a picture or a sound in a conversation. Of its tokens, which mean nothing in
// another process, the file has only that they are none of the vocabulary (noToken). The hash
// finds the conversation again for a prompt with the same picture.
type savedPiece struct {
	At        int    `json:"at"` // of its first token
	Hash      string `json:"hash"`
	Rows      int    `json:"rows"`
	Positions int    `json:"positions"`
	Columns   int    `json:"columns,omitempty"`
	Whole     bool   `json:"whole,omitempty"`
}

// noToken is what a file has in place of the tokens of pictures and sounds, as llama.cpp's lists
// of tokens do.
const noToken kvcache.Token = -1

// savedPieces are those of a conversation.
func savedPieces(placed []piece.Placed) (saved []savedPiece) {
	for _, p := range placed {
		saved = append(saved, savedPiece{p.At, hex.EncodeToString(p.Hash[:]), p.Rows, p.Positions, p.Columns, p.Whole})
	}
	return saved
}

// withoutPieces are the tokens as a file has them.
func withoutPieces(tokens []kvcache.Token) []kvcache.Token {
	plain := make([]kvcache.Token, len(tokens))
	for i, t := range tokens {
		plain[i] = max(t, noToken)
	}
	return plain
}

// pieces are those of a file. Whether they can be those of its tokens, the scheduler checks.
func (o *origin) pieces() ([]piece.Placed, error) {
	var placed []piece.Placed
	for _, p := range o.Pieces {
		hash, err := hex.DecodeString(p.Hash)
		if err != nil || len(hash) != sha256.Size {
			return nil, errDamaged
		}
		placed = append(placed, piece.Placed{At: p.At, Shape: piece.Shape{Hash: [sha256.Size]byte(hash), Rows: p.Rows, Positions: p.Positions,
			Columns: p.Columns, Whole: p.Whole}})
	}
	return placed, nil
}

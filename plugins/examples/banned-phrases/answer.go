// SPDX-License-Identifier: MIT

package main

import "github.com/penstock/penstock/plugins/sdk/go/penstock"

// answer is the text so far and where its tokens end, in bytes.
type answer struct {
	text  []byte
	ends  []int
	fold  bool // capitals are kept as small letters
	piece []byte
}

// follow brings the answer up to date with all its tokens. Most often one is new; after a pause,
// several.
func (a *answer) follow(tokens []penstock.Token) {
	if len(a.ends) >= len(tokens) {
		a.cut(len(tokens) - 1)
	}
	for _, t := range tokens[len(a.ends):] {
		a.piece = penstock.Piece(t, a.piece)
		a.text = append(a.text, a.piece...)
		a.ends = append(a.ends, len(a.text))
	}
	if a.fold {
		// A character may have been completed only now, by the last of its bytes.
		lower(a.text[max(0, len(a.text)-len(a.piece)-3):])
	}
}

// cut leaves the first n tokens.
func (a *answer) cut(n int) {
	if n >= len(a.ends) {
		return
	}
	a.ends = a.ends[:n]
	end := 0
	if n > 0 {
		end = a.ends[n-1]
	}
	a.text = a.text[:end]
}

// tokenAt is the token that has the byte at an offset.
func (a *answer) tokenAt(offset int) int {
	i := len(a.ends) - 1
	for i > 0 && a.ends[i-1] > offset {
		i--
	}
	return i
}

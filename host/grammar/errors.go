// SPDX-License-Identifier: MIT

package grammar

import "errors"

// ErrAmbiguous says that following a text takes too long: it can be meant in very many ways, or an
// expression has very many states.
var ErrAmbiguous = errors.New("the grammar is too ambiguous, or an expression of it too large: to follow it takes too long")

// ErrVoid says that no text fits a grammar.
var ErrVoid = errors.New("no text fits the grammar")

// ErrUnspelled says that no tokens of the vocabulary spell the text that completes an answer.
var ErrUnspelled = errors.New("the model has no tokens for the shortest text that completes it")

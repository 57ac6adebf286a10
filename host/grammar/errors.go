// SPDX-License-Identifier: MIT

package grammar

import "errors"

// ErrAmbiguous says that a text can be meant in so many ways that following it takes too long.
var ErrAmbiguous = errors.New("the grammar is too ambiguous: to follow it takes too long")

// ErrVoid says that no text fits a grammar.
var ErrVoid = errors.New("no text fits the grammar")

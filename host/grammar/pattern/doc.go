// SPDX-License-Identifier: MIT

// Package pattern reads regular expressions, as ECMA-262 and as Go have them, as expressions of
// texts.
//
// Both become the same tree, which is read from its end: each part knows what may follow it. So an
// assertion is an intersection of what follows with what it asserts, `$` leaves only the empty
// text, and a look-ahead may look beyond the part that it stands in. What comes before a part
// matters to `^` and `\b` alone, so there is one expression of what follows the beginning of the
// text, one of what follows a character of a word, and one of what follows any other.
//
// # Why does Go's parser read regular expressions?
//
// It is kept up with Go, knows Unicode, bounds repetitions, and refuses what no grammar can
// express. Its tree becomes an expression over characters (host/grammar/pattern).
package pattern

// SPDX-License-Identifier: MIT

// Package lexeme has the words of a grammar: expressions over characters, which become automata
// over bytes as texts reach their states. Intersection and complement are among what they may say.
//
// An expression's derivative by a character is the expression of what may follow it. There are
// finitely many of them, since equal ones have one number, and they are made only when a text
// leads there: so complement and intersection cost what a text uses of them. Characters are
// Unicode's scalar values: surrogates are none. Each expression divides them into few classes,
// which are one partition for all expressions that divide them alike.
//
// A decoder stands between bytes and characters. A state within a character, or within an escape
// of a JSON string, is a list of what the rest of it can still be, and where each leads. Where
// nothing is left the state is dead, and where the lists are the same it is the same state: an
// expression that takes any character has one for the first bytes of all characters of two bytes.
//
// # Bounds
//
// A state is made only if some text ends it. Whether one does is mostly told by the expression's
// parts: by how long texts can be, and by what may stand before and behind them. Otherwise
// derivatives are searched, within a bound; beyond it there is an error, and no state. All work is
// counted in steps, a part of an expression that is looked at, and every call has a bound of them.
// Automata take a bounded amount of memory; they are dropped as a whole, and Move carries states
// on to the next.
package lexeme

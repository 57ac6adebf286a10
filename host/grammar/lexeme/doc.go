// SPDX-License-Identifier: MIT

// Package lexeme has the words of a grammar: expressions over characters, which become automata over
// bytes as texts reach their states. Intersection and complement are among what they may say.
//
// An expression's derivative by a character is the expression of what may follow it. There are finitely many of them, since equal
// ones have one number, and they are made only when a text leads there: so complement and intersection cost what a text uses of them.
// Characters are Unicode's scalar values: surrogates are none.
package lexeme

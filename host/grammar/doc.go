// SPDX-License-Identifier: MIT

// Package grammar tells which texts, and so which tokens, an answer may be: rules over lexemes,
// followed byte by byte.
//
// A Builder collects rules. Build compiles them to places, of which a stack says what is still to
// come. A State is a set of stacks, each with how far a lexeme has been read: one for each way in
// which the text so far can be meant. No way is preferred, as by a longest match: a text fits where
// any way leads to the end. States are made when a text first reaches them and are kept, within a
// bound, for all texts that are followed in the same Grammar. What cannot lead to an end is no part
// of a state, so a text that has come so far can always be completed.
//
// Grammars may be hostile. A Builder bounds what it is given, an operation the steps that it takes
// (ErrAmbiguous is beyond), and a Grammar what it keeps: 16 MiB, after which what is known is
// forgotten and found again, while the states that requests hold stay valid. Steps and masks that
// are known are read without a lock.
//
// # Why is there one engine for grammars, schemas and regular expressions?
//
// Schemas and regular expressions used to be written as GBNF, which an automaton in C++ followed.
// GBNF cannot say *and*, *not*, or *as often as this number says*, so most of what schemas demand
// got lost on the way or was refused, and what JSON writes as `\"` or `\u00e9` was not the
// character it means. Now each notation is read into the same rules. Their words are expressions
// that have all three, and a decoder stands before them where they are written as JSON. It costs
// code: 16,500 lines without tests, where the automaton, the conversions and the plugin
// json-schema, which had an engine of its own in Rust, were 7,500, and llama.cpp's conversion
// 1,800 more. A third of them are for what schemas say.
//
// # How can a grammar know that a name came before, when answers share its states?
//
// What may follow a text depends on all names in it, so states with different names are
// different, and answers would share little. So an answer's own state is private: it knows the
// texts, is stepped exactly, and is kept for nobody else. Masks are made of its shadow, in which
// the texts are forgotten and which all answers share. How an answer can be completed, and which
// tokens leave enough for that, is found in shadows too. A shadow allows too much only where a
// token ends one name, goes on into the next and ends that as well; what comes after such a name
// is in doubt there, and the private state is asked about tokens that lead nowhere else, and
// about completions that what is in doubt could shorten. A name itself needs no list: where it
// begins, the names that came are taken out of its expression, so no spelling of them fits and no
// beginning that only they complete.
//
// # How can an answer be whole before max_tokens?
//
// A grammar knows of each state how many bytes its shortest completion has, and which bytes that
// begins with. From there it finds the fewest tokens that spell that text; the choice depends on
// the state alone, so after the first of these tokens one fewer is needed, and there is always a
// token that keeps the promise. A drawn token is tested against it, which is a comparison while
// as many tokens are left as bytes are missing. Only where one fails is the mask made of the
// tokens after which the rest fits. So the promise costs little until the end is near, and it
// does not change which tokens come before. Where a state is so large that the search exceeds its
// bound, the longest token of the shortest text is all that may come. How long a search takes is
// not known before, so such an answer has a background sampler from its beginning.
package grammar

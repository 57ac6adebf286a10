// SPDX-License-Identifier: MIT

// Package peg makes grammars of the formats in which chat templates have models answer. llama.cpp
// knows a format as a parser of answers (common/peg-parser.h), which it writes as JSON: a tree of
// sequences, choices and repetitions, whose tags say what is a call, an argument or a value.
//
// The grammar is what the parser reads, but for what it only looks ahead at. Values of arguments
// and answers that fit a schema are the schema's: as JSON, or, where the format has a string as
// the text between two tags, as that text. An argument comes once.
//
// Beside calls the text of an answer may have a format of its own, of which llama.cpp's parsers
// know nothing: one that reads a format reads no calls. So two parsers are joined: that of answers
// that must call, without the text that it takes before a call, and that of answers in text, where
// the format stands in the place of the content, and no call.
//
// A custom tool takes a text. It is a function with one argument, which a grammar or a regular
// expression may say: that stands in the place of the argument's value.
//
// # Why is the grammar of tools' calls not made by llama.cpp?
//
// llama.cpp makes it with its converter of JSON schemas, which drops words that it does not know,
// refuses others, and takes any text for a string between tags. But it writes its parser of
// answers as JSON, with tags that say what is a call, an argument or a value. host/grammar/peg
// makes the grammar from that, and puts the rules of the schema in where a value stands. So
// native/llama.cpp/schema.cpp takes the place of the converter: of a schema it reads only which
// kinds of values an argument takes, which the parsers ask for.
//
// # Why does an answer that may have one call end with it?
//
// What could follow is white space, and each token of that is a forward pass. A plugin that
// forces a text with two calls at once is not at fault either: what comes after the end of the
// answer is dropped, as where a stop string ends it.
package peg

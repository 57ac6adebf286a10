// SPDX-License-Identifier: MIT

//! Answers that are JSON and fit a schema, closed before `max_tokens`.
//!
//! The way of a token: [`plugin`] asks [`fill`] for a mask; that lets it [`walk`] the vocabulary's [`trie`] with the
//! [`state`] of an automaton, byte by byte, whose table [`compile`] made of the schema ([`schema`] has its parts). A token
//! is allowed if the automaton takes all its bytes and what is then still to be written ([`rest`]) fits into the tokens
//! that are left. Where an enum or an object has thousands of [`texts`], these are a trie too, and both are walked together.
//! Strings, in which most of an answer's tokens fall, have a shorter way: [`inside`], and [`matches`] where they have a [`pattern`]:
//! a [`regex`] becomes a [`program`], this an [`automaton`] over characters, and the vocabulary a trie of [`spellings`] in the
//! [`classes`] of characters that it tells apart.

extern crate alloc;

pub mod apart;
pub mod automaton;
pub mod characters;
pub mod classes;
pub mod compile;
pub mod cost;
pub mod exact;
pub mod fill;
pub mod formats;
pub mod holds;
pub mod inside;
pub mod keywords;
pub mod matches;
pub mod object;
pub mod parts;
pub mod paths;
pub mod pattern;
pub mod plugin;
pub mod program;
pub mod range;
pub mod regex;
pub mod rest;
pub mod schema;
pub mod spellings;
pub mod state;
pub mod step;
pub mod string;
pub mod strings;
pub mod texts;
pub mod trie;
pub mod walk;
pub mod words;

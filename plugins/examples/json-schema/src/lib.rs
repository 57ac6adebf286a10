// SPDX-License-Identifier: MIT

//! Answers that are JSON and fit a schema, closed before `max_tokens`.
//!
//! The way of a token: [`plugin`] asks [`fill`] for a mask; that lets it [`walk`] the vocabulary's [`trie`] with the
//! [`state`] of an automaton, byte by byte, whose table [`compile`] made of the schema ([`schema`] has its parts). A token
//! is allowed if the automaton takes all its bytes and what is then still to be written ([`rest`]) fits into the tokens
//! that are left. Where an enum or an object has thousands of [`texts`], these are a trie too, and both are walked together.
//! Strings, in which most of an answer's tokens fall, have a shorter way: [`inside`].

extern crate alloc;

pub mod compile;
pub mod cost;
pub mod fill;
pub mod inside;
pub mod keywords;
pub mod plugin;
pub mod range;
pub mod rest;
pub mod schema;
pub mod state;
pub mod string;
pub mod texts;
pub mod trie;
pub mod walk;
pub mod words;

penstock::export!(plugin::JsonSchema: Warm, Prepare, Accept, Rewind);

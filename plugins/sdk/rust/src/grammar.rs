// SPDX-License-Identifier: MIT

//! The host's own grammar engine, for plugins.

use crate::{abi, host, Next, Token};
use alloc::string::String;

/// A notation of grammars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// llama.cpp's.
    Gbnf,
    /// A JSON schema.
    JsonSchema,
}

/// A compiled grammar with its current state. A plugin that has one should not have a method
/// `rewind`: without it, the plugin is started again when tokens are taken back, and all tokens are
/// replayed to it and so to the grammar.
#[derive(Debug)]
pub struct Grammar {
    handle: i32,
}

impl Grammar {
    /// Compiles a grammar; a request may have up to four. The error says why a grammar is refused,
    /// and for a JSON schema the place; on an old host only the request's log has it.
    pub fn open(kind: Kind, text: &str) -> Result<Grammar, String> {
        let kind = match kind {
            Kind::Gbnf => abi::GRAMMAR_GBNF,
            Kind::JsonSchema => abi::GRAMMAR_JSON_SCHEMA,
        };
        // Safety: the host reads within the slice.
        match unsafe { abi::grammar_open(kind, text.as_ptr(), text.len() as i32) } {
            handle if handle < 0 => Err(reason()),
            handle => Ok(Grammar { handle }),
        }
    }

    pub(crate) fn handle(&self) -> i32 {
        self.handle
    }

    /// Sets the mask of the next token to the tokens that the grammar allows. False if the grammar
    /// has become too ambiguous to follow: then there is no mask.
    pub fn fill(&self, next: &mut Next) -> bool {
        // Safety: the host writes the mask that was bound, which is the one of `next`.
        let filled = unsafe { abi::grammar_mask(self.handle) } == 0;
        if filled {
            next.filled |= abi::PREPARE_MASK;
        }
        filled
    }

    /// Sets the mask to the tokens that the grammar allows and after which its text can be
    /// completed with `tokens` tokens in all, the next one included. An answer is complete in time
    /// if each of its tokens is one of these, and `tokens` is one less each time.
    pub fn fill_within(&self, next: &mut Next, tokens: usize) -> Within {
        if !completes() {
            return Within::Refused;
        }
        // Safety: the host writes the mask that was bound, which is the one of `next`.
        match unsafe { abi::grammar_mask_within(self.handle, tokens.min(i32::MAX as usize) as i32) } {
            abi::WITHIN_FILLED => {
                next.filled |= abi::PREPARE_MASK;
                Within::Filled
            }
            abi::WITHIN_TOO_FEW => Within::TooFew,
            _ => Within::Refused,
        }
    }

    /// How many tokens complete the text.
    pub fn rest(&self) -> Rest {
        if !completes() {
            return Rest::Unknown;
        }
        // Safety: there are no pointers.
        match unsafe { abi::grammar_rest(self.handle) } {
            abi::REST_ENDED => Rest::Ended,
            n if n < 0 => Rest::Unknown,
            n => Rest::Tokens(n as usize),
        }
    }

    /// Advances the grammar by a token. False, with no change, if the grammar does not allow the
    /// token.
    pub fn accept(&mut self, token: Token) -> bool {
        // Safety: there are no pointers.
        unsafe { abi::grammar_accept(self.handle, token as i32) == 0 }
    }
}

/// The result of `fill_within`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// The mask is filled.
    Filled,
    /// So few tokens do not complete the text; there is no mask.
    TooFew,
    /// The grammar has become too ambiguous to follow, or the host is too old; there is no mask.
    Refused,
}

/// How a grammar's text can be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// With at most this many tokens; with 0 it may end.
    Tokens(usize),
    /// It is complete, and only an end token may follow.
    Ended,
    /// It cannot be determined: the model has no tokens for it, it takes too long, or the host is
    /// too old.
    Unknown,
}

/// Whether the host supports `fill_within` and `rest`.
pub fn completes() -> bool {
    host::feature("grammar_mask_within") && host::feature("grammar_rest")
}

/// Why the last grammar was refused.
fn reason() -> String {
    if host::feature("grammar_reason") {
        let reason = host::grammar_reason();
        if !reason.is_empty() {
            return reason;
        }
    }
    String::from("the grammar is not valid, or the request has four already")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::vec::Vec;

    std::thread_local! {
        static ASKED: RefCell<Vec<(i32, i32)>> = const { RefCell::new(Vec::new()) };
    }

    /// A host with one grammar, which takes token 5 only.
    fn host() -> abi::Host {
        abi::Host {
            grammar_open: |kind, _, len| {
                ASKED.with(|a| a.borrow_mut().push((kind, len)));
                if len == 3 {
                    -1
                } else {
                    2
                }
            },
            grammar_mask: |handle| if handle == 2 { 0 } else { -1 },
            grammar_accept: |_, token| if token == 5 { 0 } else { -1 },
            grammar_mask_within: |_, tokens| match tokens {
                9 => abi::WITHIN_FILLED,
                8 => abi::WITHIN_TOO_FEW,
                _ => abi::WITHIN_REFUSED,
            },
            grammar_rest: |handle| handle + 1,
            grammar_reason: |_, _| 0,
            feature: |_, len| (len > 0) as i32,
            ..abi::ABSENT
        }
    }

    #[test]
    fn grammar_asks_the_host() {
        abi::install(host());
        assert!(Grammar::open(Kind::Gbnf, "bad").is_err());
        let mut g = Grammar::open(Kind::JsonSchema, "{}").unwrap();
        ASKED.with(|a| assert_eq!(*a.borrow(), [(abi::GRAMMAR_GBNF, 3), (abi::GRAMMAR_JSON_SCHEMA, 2)]));
        let mut next = Next { mask: &mut [0], bias: &mut [], splice: &mut [], filled: 0 };
        assert!(g.fill(&mut next));
        assert_eq!(next.filled, abi::PREPARE_MASK);
        assert!(g.accept(5) && !g.accept(6));
        assert_eq!([9, 8, 7].map(|n| g.fill_within(&mut next, n)), [Within::Filled, Within::TooFew, Within::Refused]);
        assert_eq!([2, -2, -3].map(|handle| Grammar { handle }.rest()), [Rest::Tokens(3), Rest::Ended, Rest::Unknown]);
        abi::install(abi::Host { feature: |_, _| 0, ..host() });
        assert_eq!((g.fill_within(&mut next, 9), g.rest()), (Within::Refused, Rest::Unknown));
    }
}

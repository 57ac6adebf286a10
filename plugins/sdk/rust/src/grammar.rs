// SPDX-License-Identifier: MIT

//! The host's own grammar engine, for a plugin that would rather not write one.

use crate::{abi, Next, Token};
use alloc::string::String;

/// A notation of grammars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// llama.cpp's.
    Gbnf,
    /// A JSON schema.
    JsonSchema,
}

/// A compiled grammar with its place in it. A plugin with one should not have a method `rewind`: without, it is begun
/// anew and told all tokens again, and the grammar with it.
#[derive(Debug)]
pub struct Grammar {
    handle: i32,
}

impl Grammar {
    /// Compiles a grammar, at most four for a request. The operator's log has what is wrong with one that is refused.
    pub fn open(kind: Kind, text: &str) -> Result<Grammar, String> {
        let kind = match kind {
            Kind::Gbnf => abi::GRAMMAR_GBNF,
            Kind::JsonSchema => abi::GRAMMAR_JSON_SCHEMA,
        };
        // Safety: the host reads within the slice.
        match unsafe { abi::grammar_open(kind, text.as_ptr(), text.len() as i32) } {
            handle if handle < 0 => Err(String::from("the grammar is not valid, or the request has four already")),
            handle => Ok(Grammar { handle }),
        }
    }

    /// Lets only those tokens come next that the grammar allows; what the mask held is gone. False where the grammar has
    /// become too ambiguous to follow: then the mask is left out.
    pub fn fill(&self, next: &mut Next) -> bool {
        // Safety: the host writes the mask that was bound, which is the one of `next`.
        let filled = unsafe { abi::grammar_mask(self.handle) } == 0;
        if filled {
            next.filled |= abi::PREPARE_MASK;
        }
        filled
    }

    /// Moves on by a token. False, and it stays where it is, if the grammar does not allow the token.
    pub fn accept(&mut self, token: Token) -> bool {
        // Safety: there are no pointers.
        unsafe { abi::grammar_accept(self.handle, token as i32) == 0 }
    }
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
    }
}

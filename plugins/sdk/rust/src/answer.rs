// SPDX-License-Identifier: MIT

use crate::{abi, Token};
use alloc::vec::Vec;

/// What a sampler decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The view was edited, or left as it is; the chain goes on.
    Edited,
    /// The first so many candidates stay, as they were shown; what was edited does not count.
    /// Cheaper than editing, since nothing is read back. One stays at least. It is an answer about
    /// candidates: [`crate::Plugin::sample_row`] edits.
    Keep(usize),
    /// What [`crate::Candidates::bias`] was called with is added to the logits as the stages
    /// before left them. What was edited does not count, and no token is dropped, not even those
    /// that the candidates do not show. On a host that does not know the answer, candidates are
    /// edited instead, and those that are not shown are dropped as ever.
    Biased,
    /// This token is taken, and the chain ends.
    Take(Token),
}

/// What a plugin wants after a token was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Go on.
    Continue,
    /// End the answer after this token.
    Stop,
    /// Take tokens back and put others in their place. Needs a manifest with `hold`.
    Splice {
        /// How many to take back, counted from and including the token just accepted: 0 appends, 1
        /// replaces it.
        backtrack: usize,
        /// What comes instead.
        tokens: Vec<Token>,
    },
}

/// What a stop rule says about the text so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it may be shown.
    Show,
    /// Hold back what came since the last `Show`, for now.
    Hold,
    /// End the answer and show everything.
    End,
    /// End the answer and show nothing since the last `Show`.
    Hide,
    /// End the answer and show this many bytes since the last `Show`.
    EndAfter(usize),
}

impl Verdict {
    pub(crate) fn code(self) -> i32 {
        match self {
            Verdict::Show => abi::STOP_SHOW,
            Verdict::Hold => abi::STOP_HOLD,
            Verdict::End => abi::STOP_END,
            Verdict::Hide => abi::STOP_HIDE,
            Verdict::EndAfter(bytes) => -(bytes as i32) - 1,
        }
    }
}

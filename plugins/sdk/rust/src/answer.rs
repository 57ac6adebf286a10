// SPDX-License-Identifier: MIT

use crate::{abi, Token};
use alloc::string::String;
use alloc::vec::Vec;

/// A sampler's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The view was edited, or left as it is; the chain continues.
    Edited,
    /// The first candidates stay, this many, as they were shown; edits are ignored. It costs less
    /// than editing, since nothing is read back. At least one stays. It only applies to candidates:
    /// [`crate::Plugin::sample_row`] edits.
    Keep(usize),
    /// The amounts of [`crate::Candidates::bias`] are added to the logits as the earlier stages
    /// left them. Edits are ignored, and no token is dropped, not even those outside the
    /// candidates. On a host without this answer, the candidates are edited instead, and tokens
    /// outside them are dropped as usual.
    Biased,
    /// This token is taken, and the chain ends.
    Take(Token),
}

/// Another name of [`Choice`], which is not to be confused with the `choice` of a request.
pub type Decision = Choice;

/// A plugin's answer to an accepted token.
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
        /// The tokens that replace them.
        tokens: Vec<Token>,
    },
}

/// What a filter makes of text. The default shows it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// What is shown; none: the text as it is.
    pub shown: Option<String>,
    /// How many of the text's last bytes are kept back, whole characters and at most 4 KiB. They
    /// come again in the next call, before what follows.
    pub keep: usize,
}

/// What a stop rule says about the text so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it may be shown.
    Show,
    /// Hold back the text since the last `Show`, for now.
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

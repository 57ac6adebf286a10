// SPDX-License-Identifier: MIT

use crate::{abi, host, Token};
use alloc::vec::Vec;

/// Tokens that were forced together, for a host that takes one at a time.
pub(crate) struct Forced {
    tokens: Vec<Token>,
    at: usize, // the position of the first
}

impl Forced {
    pub const fn none() -> Forced {
        Forced { tokens: Vec::new(), at: 0 }
    }

    /// Cuts the splice to its first token and remembers the others, if the host would not accept
    /// them.
    pub fn begin(&mut self, splice: &mut [u32]) {
        let n = splice[1] as usize;
        if n > 1 && !host::feature(abi::FEATURE_PREPARE_FORCE_MANY) {
            self.tokens = splice[2..2 + n].to_vec();
            self.at = host::history_len();
            splice[1] = 1;
        }
    }

    /// The token to force now; none if nothing is left, or if the answer took another course.
    pub fn next(&mut self) -> Option<Token> {
        if self.tokens.is_empty() {
            return None;
        }
        let came = host::history_from(self.at as i32);
        let next = self.tokens.get(came.len()).copied().filter(|_| !came.is_empty() && self.tokens.starts_with(&came));
        if next.is_none() {
            self.tokens.clear();
        }
        next
    }
}

// SPDX-License-Identifier: MIT

use crate::Token;

/// Which tokens may come next: one bit for each; if it is set, the token is allowed.
#[derive(Debug)]
pub struct Mask<'a> {
    words: &'a mut [u32],
}

impl<'a> Mask<'a> {
    /// A mask in these words; bit i of word i / 32 is token i.
    pub fn new(words: &'a mut [u32]) -> Self {
        Mask { words }
    }

    /// Bans every token.
    pub fn ban_all(&mut self) {
        self.words.fill(0);
    }

    /// Allows every token.
    pub fn allow_all(&mut self) {
        self.words.fill(!0);
    }

    /// Allows one token. An id beyond the vocabulary is ignored.
    #[inline]
    pub fn allow(&mut self, token: Token) {
        if let Some(word) = self.words.get_mut(token as usize / 32) {
            *word |= 1 << (token % 32);
        }
    }

    /// Bans one token.
    #[inline]
    pub fn ban(&mut self, token: Token) {
        if let Some(word) = self.words.get_mut(token as usize / 32) {
            *word &= !(1 << (token % 32));
        }
    }

    /// Whether a token is allowed.
    pub fn allowed(&self, token: Token) -> bool {
        self.words.get(token as usize / 32).map_or(false, |word| word >> (token % 32) & 1 == 1)
    }

    /// The words themselves, for plugins that keep whole masks.
    pub fn words(&mut self) -> &mut [u32] {
        self.words
    }
}

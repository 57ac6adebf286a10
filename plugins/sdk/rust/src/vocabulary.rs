// SPDX-License-Identifier: MIT

use crate::{abi, host, Token};
use alloc::vec::Vec;

/// All tokens with their bytes and attributes. Reading it takes as long as copying it; do it in
/// [`crate::Plugin::warm`].
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    bytes: Vec<u8>, // u32 offset[n + 1], then the pieces
    attributes: Vec<u8>,
}

impl Vocabulary {
    /// The host's.
    pub fn read() -> Vocabulary {
        let bytes = host::vocab();
        let n = host::vocab_size();
        Vocabulary { bytes, attributes: (0..n as Token).map(|t| host::attributes(t) as u8).collect() }
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// The bytes of a token, which need not be valid UTF-8 by themselves; empty for control tokens,
    /// and for ids that are no token, such as [`crate::MEDIA_TOKEN`].
    pub fn piece(&self, token: Token) -> &[u8] {
        if token as usize >= self.len() {
            return &[];
        }
        let data = 4 * (self.len() + 1);
        &self.bytes[data + self.offset(token as usize)..data + self.offset(token as usize + 1)]
    }

    fn offset(&self, i: usize) -> usize {
        let b = &self.bytes[4 * i..4 * i + 4];
        u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize
    }

    /// Tokens whose text is the given one, whatever the tokenizer would return: the longest that
    /// fits, again and again. They end where none fits.
    pub fn spell(&self, mut text: &[u8]) -> Vec<Token> {
        let mut tokens = Vec::new();
        while !text.is_empty() {
            let fits = (0..self.len() as Token).filter(|t| !self.piece(*t).is_empty() && text.starts_with(self.piece(*t)));
            match fits.reduce(|best, t| if self.piece(t).len() > self.piece(best).len() { t } else { best }) {
                None => break,
                Some(token) => {
                    tokens.push(token);
                    text = &text[self.piece(token).len()..];
                }
            }
        }
        tokens
    }

    /// Whether the token ends generation.
    pub fn ends(&self, token: Token) -> bool {
        self.has(token, abi::ATTR_END)
    }

    /// Whether the token is text: neither control, nor the end, nor unused, nor without bytes.
    pub fn is_text(&self, token: Token) -> bool {
        !self.has(token, abi::ATTR_CONTROL | abi::ATTR_END | abi::ATTR_UNUSED) && !self.piece(token).is_empty()
    }

    fn has(&self, token: Token, bits: i32) -> bool {
        self.attributes.get(token as usize).map_or(false, |a| i32::from(*a) & bits != 0)
    }
}

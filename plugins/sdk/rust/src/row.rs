// SPDX-License-Identifier: MIT

use crate::{draw, Token};
use alloc::vec::Vec;

/// The logits of all tokens; the index is the token. It is the host's own buffer: the next stage
/// sees what is written here.
pub struct Row<'a> {
    logits: &'a mut [f32],
}

impl<'a> Row<'a> {
    /// A view of these logits.
    pub fn new(logits: &'a mut [f32]) -> Self {
        Row { logits }
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.logits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.logits.is_empty()
    }

    /// The logits; −∞ for a banned token.
    pub fn logits(&self) -> &[f32] {
        self.logits
    }

    /// The logits, to edit. −∞ bans a token; at least one must be left, and NaN and +∞ are faults.
    pub fn logits_mut(&mut self) -> &mut [f32] {
        self.logits
    }

    /// Bans a token.
    pub fn ban(&mut self, token: Token) {
        self.logits[token as usize] = f32::NEG_INFINITY;
    }

    /// The highest logit; −∞ if there is none.
    pub fn highest(&self) -> f32 {
        draw::highest(self.logits)
    }

    /// A weight for each token, exp(logit − highest), and their sum; a probability is weight / sum.
    /// The weights are in `buffer`; keep it in the plugin to reuse its memory.
    pub fn softmax<'b>(&self, buffer: &'b mut Vec<f32>) -> (&'b mut [f32], f32) {
        draw::softmax(self.logits, buffer)
    }

    /// Draws a token with the probabilities that weights stand for, as [`Row::softmax`] gives
    /// them, with the request's seed.
    pub fn draw(&self, weights: &[f32], sum: f32) -> Token {
        draw::draw(weights, sum) as Token
    }
}

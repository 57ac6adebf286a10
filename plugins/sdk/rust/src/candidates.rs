// SPDX-License-Identifier: MIT

use crate::{draw, Token};
use alloc::vec::Vec;

/// The best tokens of a row with their logits, best first as the host hands them over. It is the host's own buffer: what
/// is written here is what the next stage sees.
pub struct Candidates<'a> {
    ids: &'a mut [Token],
    logits: &'a mut [f32],
}

impl<'a> Candidates<'a> {
    /// A view of two slices of the same length.
    pub fn new(ids: &'a mut [Token], logits: &'a mut [f32]) -> Self {
        let n = ids.len().min(logits.len());
        Candidates { ids: &mut ids[..n], logits: &mut logits[..n] }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The tokens, in the order of [`Candidates::logits`].
    pub fn ids(&self) -> &[Token] {
        self.ids
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn ids_mut(&mut self) -> &mut [Token] {
        self.ids
    }

    /// The logits; −∞ for a candidate that is out.
    pub fn logits(&self) -> &[f32] {
        self.logits
    }

    /// The logits, to edit. −∞ bans a candidate; at least one must stay, and NaN and +∞ are faults.
    pub fn logits_mut(&mut self) -> &mut [f32] {
        self.logits
    }

    /// Bans the candidate at an index.
    pub fn ban(&mut self, index: usize) {
        self.logits[index] = f32::NEG_INFINITY;
    }

    /// The first `k` of them, in the same memory: for a sampler that drops the others, to draw from those that stay. The host learns of it
    /// by [`Choice::Keep`](crate::Choice::Keep), or by the token that is taken.
    pub fn first(&mut self, k: usize) -> Candidates<'_> {
        Candidates { ids: &mut self.ids[..k], logits: &mut self.logits[..k] }
    }

    /// The highest logit; −∞ where there is none.
    pub fn highest(&self) -> f32 {
        draw::highest(self.logits)
    }

    /// A weight for each candidate, exp(logit − highest), and their sum; a probability is weight / sum. The weights lie in `buffer`;
    /// keep it in the plugin, and its memory is reused.
    pub fn softmax<'b>(&self, buffer: &'b mut Vec<f32>) -> (&'b mut [f32], f32) {
        draw::softmax(self.logits, buffer)
    }

    /// Draws a token with the probabilities that weights stand for, as [`Candidates::softmax`] gives them, with the request's seed.
    pub fn draw(&self, weights: &[f32], sum: f32) -> Token {
        self.ids[draw::draw(weights, sum)]
    }
}

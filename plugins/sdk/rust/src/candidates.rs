// SPDX-License-Identifier: MIT

use crate::{bias, draw, Token};
use alloc::vec::Vec;

/// The best tokens of a row with their logits, best first, as the host passes them. It is the
/// host's own buffer: the next stage sees what is written here.
pub struct Candidates<'a> {
    ids: &'a mut [Token],
    logits: &'a mut [f32],
    biases: &'a mut [u32],
}

impl<'a> Candidates<'a> {
    /// A view of two slices of the same length.
    pub fn new(ids: &'a mut [Token], logits: &'a mut [f32]) -> Self {
        let n = ids.len().min(logits.len());
        Candidates { ids: &mut ids[..n], logits: &mut logits[..n], biases: &mut [] }
    }

    /// The same with a bias buffer, which is empty then.
    pub(crate) fn biasing(ids: &'a mut [Token], logits: &'a mut [f32], biases: &'a mut [u32]) -> Self {
        if let Some(n) = biases.first_mut() {
            *n = 0;
        }
        Candidates { biases, ..Candidates::new(ids, logits) }
    }

    /// Adds an amount to the logit of a token, shown or not, if `sample` answers
    /// [`Choice::Biased`](crate::Choice::Biased); −∞ bans it. False if there is no room for
    /// another: the manifest's `biases` sets how many there are.
    pub fn bias(&mut self, token: Token, amount: f32) -> bool {
        bias::add(self.biases, token, amount)
    }

    /// Applies the biases to the candidates.
    pub(crate) fn apply_biases(&mut self) {
        for (token, amount) in bias::entries(self.biases) {
            add(self.ids, self.logits, token, amount);
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn add(&mut self, token: Token, amount: f32) {
        add(self.ids, self.logits, token, amount);
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

    /// The logits; −∞ for a banned candidate.
    pub fn logits(&self) -> &[f32] {
        self.logits
    }

    /// The logits, to edit. −∞ bans a candidate; at least one must be left, and NaN and +∞ are
    /// faults.
    pub fn logits_mut(&mut self) -> &mut [f32] {
        self.logits
    }

    /// Bans the candidate at an index.
    pub fn ban(&mut self, index: usize) {
        self.logits[index] = f32::NEG_INFINITY;
    }

    /// The first `k` of them, in the same memory: for a sampler that drops the others and draws
    /// from the rest. The sampler reports this to the host with
    /// [`Choice::Keep`](crate::Choice::Keep), or with the token that it takes.
    pub fn first(&mut self, k: usize) -> Candidates<'_> {
        Candidates { ids: &mut self.ids[..k], logits: &mut self.logits[..k], biases: self.biases }
    }

    /// The highest logit; −∞ if there is none.
    pub fn highest(&self) -> f32 {
        draw::highest(self.logits)
    }

    /// A weight for each candidate, exp(logit − highest), and their sum; a probability is weight /
    /// sum. The weights are in `buffer`; keep it in the plugin to reuse its memory.
    pub fn softmax<'b>(&self, buffer: &'b mut Vec<f32>) -> (&'b mut [f32], f32) {
        draw::softmax(self.logits, buffer)
    }

    /// Draws a token with the probabilities that weights stand for, as [`Candidates::softmax`]
    /// gives them, with the request's seed.
    pub fn draw(&self, weights: &[f32], sum: f32) -> Token {
        self.ids[draw::draw(weights, sum)]
    }
}

/// Adds an amount to the logit of a token, if it is there.
fn add(ids: &[Token], logits: &mut [f32], token: Token, amount: f32) {
    for (id, logit) in ids.iter().zip(logits.iter_mut()) {
        if *id == token {
            *logit = (*logit + amount).min(f32::MAX);
        }
    }
}

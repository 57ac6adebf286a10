// SPDX-License-Identifier: MIT

use crate::grammar::Grammar;
use crate::run::checked;
use crate::{abi, host, BranchError, Mask, Run, Token};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// A sampler chain of a program. [`Chain::REQUEST`] is the request's own, with its grammar and
/// without its plugins; [`Run::chain`] makes others.
#[derive(Debug)]
pub struct Chain(pub(crate) i32);

impl Chain {
    /// The request's own.
    pub const REQUEST: Chain = Chain(0);
}

/// What became of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has no row: wait for it.
    Pending,
    /// It has its row.
    Ready,
    /// It goes on by itself, as [`Branch::run`] said.
    Running,
    /// A run has its tokens, or there was no room for more.
    Ran,
    /// A run has come to an end token, which was not appended.
    Ended,
    /// A run has come to where no token is possible.
    Stuck,
}

/// A list of tokens that the model may go on from, at least one. Branches share what they have in
/// common. One that is dropped has ended, and another may have its place: drop what is not to go
/// on before you fork, since a fork is cheapest where it takes a place that has just become free.
#[derive(Debug)]
pub struct Branch<'r> {
    handle: i32,
    run: PhantomData<&'r Run>, // it ends before the run does
}

// As in run.rs, the host reads and writes within slices.

impl<'r> Branch<'r> {
    pub(crate) fn opened(answer: i32) -> Result<Branch<'r>, BranchError> {
        Ok(Branch { handle: checked(answer)?, run: PhantomData })
    }

    pub(crate) fn handle(&self) -> i32 {
        self.handle
    }

    /// Opens another branch with the same tokens, which are computed once.
    pub fn fork(&self) -> Result<Branch<'r>, BranchError> {
        Branch::opened(unsafe { abi::branch_fork(self.handle) })
    }

    /// Keeps the first `n` tokens, at least one.
    pub fn cut(&mut self, n: usize) {
        unsafe { abi::branch_cut(self.handle, n as i32) };
    }

    /// Adds tokens. After an error none is added.
    pub fn append(&mut self, tokens: &[Token]) -> Result<(), BranchError> {
        self.grow(tokens, 0)
    }

    /// Adds tokens whose log-probabilities [`Branch::scores`] is to give.
    pub fn append_scored(&mut self, tokens: &[Token]) -> Result<(), BranchError> {
        self.grow(tokens, abi::APPEND_SCORED)
    }

    fn grow(&mut self, tokens: &[Token], flags: i32) -> Result<(), BranchError> {
        checked(unsafe { abi::branch_append(self.handle, tokens.as_ptr() as *const u8, tokens.len() as i32, flags) }).map(|_| ())
    }

    /// How many tokens the branch has.
    #[allow(clippy::len_without_is_empty)] // it has one at least
    pub fn len(&self) -> usize {
        let nowhere = core::ptr::NonNull::<Token>::dangling().as_ptr() as *mut u8;
        unsafe { abi::branch_tokens(self.handle, 0, nowhere, 0) }.max(0) as usize
    }

    /// The tokens of the branch from index `from` on, the prompt included.
    pub fn tokens(&self, from: usize) -> Vec<Token> {
        host::filled(64, |p, n| unsafe { abi::branch_tokens(self.handle, from as i32, p, n) })
    }

    /// The `k` most likely next tokens with their log-probabilities, best first; fewer where fewer
    /// are possible. The branch must have been waited for, as for everything that the model says.
    pub fn best(&self, k: usize) -> Vec<(Token, f32)> {
        let (said, n) = self.candidates(k);
        let sum = f32::from_bits(said[0]);
        (0..n).map(|i| (said[2 + i], f32::from_bits(said[2 + k + i]) - sum)).collect()
    }

    /// How unsure the model is of the next token, in nats.
    pub fn entropy(&self) -> f32 {
        f32::from_bits(self.candidates(0).0[1])
    }

    /// The natural logarithm of the sum of the logits' exponentials: a log-probability is a logit
    /// less this.
    pub fn log_sum(&self) -> f32 {
        f32::from_bits(self.candidates(0).0[0])
    }

    /// Log-sum-exp, entropy, ids and logits, and how many of the `k` there are.
    fn candidates(&self, k: usize) -> (Vec<u32>, usize) {
        let mut said = alloc::vec![0; 2 + 2 * k];
        let n = unsafe { abi::branch_candidates(self.handle, k as i32, said.as_mut_ptr() as *mut u8) };
        (said, n.max(0) as usize)
    }

    /// The model's logits of the next token, one for each token of the vocabulary.
    pub fn logits(&self) -> Vec<f32> {
        host::filled(host::vocab_size(), |p, n| unsafe { abi::branch_logits(self.handle, p, n) })
    }

    /// The log-probabilities of the tokens from index `from` on, each given those before it; NaN
    /// of those that were not appended scored.
    pub fn scores(&self, from: usize) -> Vec<f32> {
        host::filled(64, |p, n| unsafe { abi::branch_scores(self.handle, from as i32, p, n) })
    }
}

/// What a program does to rows, and without them.
impl<'r> Branch<'r> {
    /// Draws a token from what the model says after the branch. It is not appended.
    pub fn sample(&self, chain: &Chain) -> Result<Token, BranchError> {
        checked(unsafe { abi::branch_sample(self.handle, chain.0) }).map(|t| t as Token)
    }

    /// Has the branch go on by itself with the next wait, until it has `n` tokens more, or an end
    /// token is drawn. A wait for it waits for that. Meanwhile it may only be dropped; afterwards
    /// [`Branch::state`] tells how it ended.
    pub fn run(&mut self, chain: &Chain, n: usize) -> Result<(), BranchError> {
        checked(unsafe { abi::branch_run(self.handle, chain.0, n as i32, 0) }).map(|_| ())
    }

    /// Is [`Branch::run`] with tokens whose log-probabilities [`Branch::scores`] is to give.
    pub fn run_scored(&mut self, chain: &Chain, n: usize) -> Result<(), BranchError> {
        checked(unsafe { abi::branch_run(self.handle, chain.0, n as i32, abi::APPEND_SCORED) }).map(|_| ())
    }

    /// What became of the branch.
    pub fn state(&self) -> State {
        match unsafe { abi::branch_state(self.handle) } {
            abi::STATE_READY => State::Ready,
            abi::STATE_RUNNING => State::Running,
            abi::STATE_RAN => State::Ran,
            abi::STATE_ENDED => State::Ended,
            abi::STATE_STUCK => State::Stuck,
            _ => State::Pending,
        }
    }

    /// Makes tokens impossible after the branch, until tokens are appended: `fill` gets a mask
    /// that allows none, and what it does not allow is in neither candidates nor logits, sums and
    /// draws.
    pub fn mask(&self, fill: impl FnOnce(&mut Mask)) {
        let mut words = alloc::vec![0u32; (host::vocab_size() + 31) / 32];
        fill(&mut Mask::new(&mut words));
        unsafe { abi::branch_mask(self.handle, words.as_ptr() as *const u8, words.len() as i32) };
    }

    /// Makes what the model says after the branch a sum of rows with weights, which are finite,
    /// until tokens are appended. All branches were waited for; this one may be among them.
    pub fn mix(&self, rows: &[(&Branch<'r>, f32)]) {
        let entries: Vec<[u32; 2]> = rows.iter().map(|(b, weight)| [b.handle as u32, weight.to_bits()]).collect();
        unsafe { abi::branch_mix(self.handle, entries.as_ptr() as *const u8, entries.len() as i32) };
    }

    /// Has the branch follow a grammar from here on, from its beginning; none ends that.
    pub fn set_grammar(&mut self, grammar: Option<&Grammar>) -> Result<(), BranchError> {
        checked(unsafe { abi::branch_grammar(self.handle, grammar.map_or(-1, Grammar::handle)) }).map(|_| ())
    }
}

impl Drop for Branch<'_> {
    fn drop(&mut self) {
        unsafe { abi::branch_close(self.handle) };
    }
}

// SPDX-License-Identifier: MIT

use crate::grammar::Grammar;
use crate::run::checked;
use crate::{abi, host, BranchError, Mask, Run, Token};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// A sampler chain of a program. [`Chain::REQUEST`] is the request's own, with its grammar and
/// without its plugins; [`Run::chain`] opens others.
#[derive(Debug)]
pub struct Chain(pub(crate) i32);

impl Chain {
    /// The request's own.
    pub const REQUEST: Chain = Chain(0);
}

/// The state of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has no row: wait for it.
    Pending,
    /// It has its row.
    Ready,
    /// The host continues it after [`Branch::run`].
    Running,
    /// A run has all its tokens, or there was no room for more.
    Ran,
    /// A run has drawn an end token, which was not appended.
    Ended,
    /// A run has reached a point where no token is possible.
    Stuck,
}

/// A list of tokens that the model can continue, at least one. Branches share their common
/// beginning. Dropping a branch closes it and frees its place: drop branches that are not needed
/// before you fork, since a fork is cheapest if it takes a place that has just become free.
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

    /// Opens another branch with the same tokens, which are computed only once.
    pub fn fork(&self) -> Result<Branch<'r>, BranchError> {
        Branch::opened(unsafe { abi::branch_fork(self.handle) })
    }

    /// Keeps the first `n` tokens, at least one.
    pub fn cut(&mut self, n: usize) {
        unsafe { abi::branch_cut(self.handle, n as i32) };
    }

    /// Appends tokens. After an error none is appended.
    pub fn append(&mut self, tokens: &[Token]) -> Result<(), BranchError> {
        self.grow(tokens, 0)
    }

    /// Appends tokens and keeps their log-probabilities for [`Branch::scores`].
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

    /// The branch's tokens from index `from` on, prompt included.
    pub fn tokens(&self, from: usize) -> Vec<Token> {
        host::filled(64, |p, n| unsafe { abi::branch_tokens(self.handle, from as i32, p, n) })
    }

    /// The `k` most likely next tokens with their log-probabilities, best first; fewer if fewer are
    /// possible. This and all other readings of the row need a wait for the branch before.
    pub fn best(&self, k: usize) -> Vec<(Token, f32)> {
        let (said, n) = self.candidates(k);
        let sum = f32::from_bits(said[0]);
        (0..n).map(|i| (said[2 + i], f32::from_bits(said[2 + k + i]) - sum)).collect()
    }

    /// The entropy of the model's distribution of the next token, in nats.
    pub fn entropy(&self) -> f32 {
        f32::from_bits(self.candidates(0).0[1])
    }

    /// The natural logarithm of the sum of the logits' exponentials: a log-probability is a logit
    /// minus this.
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

    /// The output of the model's last layer after the branch, from which its logits are computed:
    /// what [`host::hidden_state`] gives plugins that are no programs. It is written to `state`,
    /// whose memory is reused; [`Branch::mask`] and [`Branch::mix`] leave it as it is. It is empty,
    /// and the result false, on a host without this function.
    pub fn hidden_state(&self, state: &mut Vec<f32>) -> bool {
        host::read_state(state, "branch_hidden_state", |p, n| unsafe { abi::branch_hidden_state(self.handle, p, n) })
    }

    /// The log-probabilities of the tokens from index `from` on, each given those before it; NaN
    /// for tokens that were not appended scored.
    pub fn scores(&self, from: usize) -> Vec<f32> {
        host::filled(64, |p, n| unsafe { abi::branch_scores(self.handle, from as i32, p, n) })
    }
}

/// Operations on rows, and runs, which need none.
impl<'r> Branch<'r> {
    /// Draws a token from the row after the branch. It is not appended.
    pub fn sample(&self, chain: &Chain) -> Result<Token, BranchError> {
        checked(unsafe { abi::branch_sample(self.handle, chain.0) }).map(|t| t as Token)
    }

    /// Lets the host continue the branch: from the next wait on it draws `n` tokens, or fewer if an
    /// end token is drawn. A wait for the branch waits for the end of the run. Until then the
    /// branch may only be dropped; afterwards [`Branch::state`] says how the run ended.
    pub fn run(&mut self, chain: &Chain, n: usize) -> Result<(), BranchError> {
        checked(unsafe { abi::branch_run(self.handle, chain.0, n as i32, 0) }).map(|_| ())
    }

    /// Is [`Branch::run`], and keeps the tokens' log-probabilities for [`Branch::scores`].
    pub fn run_scored(&mut self, chain: &Chain, n: usize) -> Result<(), BranchError> {
        checked(unsafe { abi::branch_run(self.handle, chain.0, n as i32, abi::APPEND_SCORED) }).map(|_| ())
    }

    /// The state of the branch.
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

    /// Another name of [`Branch::state`], which is not the model's hidden state.
    pub fn status(&self) -> State {
        self.state()
    }

    /// Makes tokens impossible after the branch, until tokens are appended: `fill` gets a mask that
    /// allows none, and tokens that it does not allow are left out of candidates, logits, sums and
    /// draws.
    pub fn mask(&self, fill: impl FnOnce(&mut Mask)) {
        let mut words = alloc::vec![0u32; (host::vocab_size() + 31) / 32];
        fill(&mut Mask::new(&mut words));
        unsafe { abi::branch_mask(self.handle, words.as_ptr() as *const u8, words.len() as i32) };
    }

    /// Replaces the row after the branch by a weighted sum of rows, until tokens are appended.
    /// Weights are finite. All branches have been waited for; this one may be among them.
    pub fn mix(&self, rows: &[(&Branch<'r>, f32)]) {
        let entries: Vec<[u32; 2]> = rows.iter().map(|(b, weight)| [b.handle as u32, weight.to_bits()]).collect();
        unsafe { abi::branch_mix(self.handle, entries.as_ptr() as *const u8, entries.len() as i32) };
    }

    /// Constrains the branch to a grammar from here on, which starts at its beginning; none removes
    /// it.
    pub fn set_grammar(&mut self, grammar: Option<&Grammar>) -> Result<(), BranchError> {
        checked(unsafe { abi::branch_grammar(self.handle, grammar.map_or(-1, Grammar::handle)) }).map(|_| ())
    }
}

impl Drop for Branch<'_> {
    fn drop(&mut self) {
        unsafe { abi::branch_close(self.handle) };
    }
}

// SPDX-License-Identifier: MIT

use crate::{abi, host, Branch, Token};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The request of a program, which [`crate::Plugin::run`] gets: where its branches come from, and what the client is shown.
#[derive(Debug)]
pub struct Run(());

/// What a correct program may meet. `?` makes it the reason that a request is refused with, as in every method of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchError {
    /// As many branches are open as the manifest, or the property of the config that it names, allows.
    NoneFree,
    /// A branch has no room for so many tokens.
    ContextFull,
    /// The program has put as many tokens into branches as it may.
    Budget,
    /// The host refuses the call with a code that this SDK does not know.
    Refused(i32),
}

impl fmt::Display for BranchError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            BranchError::NoneFree => f.write_str("no branch is free: the plugin's manifest says how many there may be"),
            BranchError::ContextFull => f.write_str("the context is full"),
            BranchError::Budget => f.write_str("the program has put as many tokens into branches as it may"),
            BranchError::Refused(code) => write!(f, "the host refuses a call with {}", code),
        }
    }
}

impl From<BranchError> for String {
    fn from(e: BranchError) -> String {
        e.to_string()
    }
}

/// An answer of the host: what it counts or the handle it gives, or an error.
pub(crate) fn checked(answer: i32) -> Result<i32, BranchError> {
    match answer {
        abi::BRANCH_NONE_FREE => Err(BranchError::NoneFree),
        abi::BRANCH_CONTEXT_FULL => Err(BranchError::ContextFull),
        abi::BRANCH_BUDGET => Err(BranchError::Budget),
        code if code < 0 => Err(BranchError::Refused(code)),
        answer => Ok(answer),
    }
}

// The imports read or write within the pointers and lengths given, and those come from slices.
// Safety of each call below follows from that.

impl Run {
    /// There is one while the program runs.
    pub(crate) fn begin() -> Run {
        Run(())
    }

    /// How many tokens the answer may have: as many as the client wants, and no more than there is room for.
    pub fn max_tokens(&self) -> usize {
        let room = (host::param(abi::PARAM_CONTEXT_SIZE) - host::param(abi::PARAM_PROMPT_TOKENS)).max(0) as usize;
        match host::param(abi::PARAM_MAX_TOKENS) {
            most if most > 0 => room.min(most as usize),
            _ => room,
        }
    }

    /// Whether a token ends generation.
    pub fn ends(&self, token: Token) -> bool {
        host::attributes(token) & abi::ATTR_END != 0
    }

    /// Opens a branch with the request's prompt.
    pub fn prompt(&self) -> Result<Branch<'_>, BranchError> {
        self.open(&[])
    }

    /// Opens a branch with tokens of the plugin's own; without any it has the request's prompt.
    pub fn open(&self, tokens: &[Token]) -> Result<Branch<'_>, BranchError> {
        Branch::opened(unsafe { abi::branch_open(tokens.as_ptr() as *const u8, tokens.len() as i32) })
    }

    /// Waits until the model has computed all of some branches; [`Branch::best`] will be asked for `k` candidates of each. What was shown is
    /// sent. A wait for no branch only does that.
    pub fn wait<'a, 'r: 'a>(&'r self, k: usize, branches: impl IntoIterator<Item = &'a Branch<'r>>) {
        let mut handles: Vec<i32> = branches.into_iter().map(Branch::handle).collect();
        wait(&mut handles, k, 0);
    }

    /// Waits until the model has computed any of some branches, and returns the places of those that it has.
    pub fn wait_any<'a, 'r: 'a>(&'r self, k: usize, branches: impl IntoIterator<Item = &'a Branch<'r>>) -> Vec<usize> {
        let mut handles: Vec<i32> = branches.into_iter().map(Branch::handle).collect();
        let given = handles.clone();
        let n = wait(&mut handles, k, abi::WAIT_ANY);
        given.iter().enumerate().filter(|(_, handle)| handles[..n].contains(handle)).map(|(place, _)| place).collect()
    }

    /// Shows tokens to the client. Stop strings, limits and end tokens end the answer, and with it the program.
    pub fn show(&self, tokens: &[Token]) {
        unsafe { abi::show(tokens.as_ptr() as *const u8, core::ptr::null(), tokens.len() as i32) };
    }

    /// Shows tokens with their log-probabilities, which a client gets that asks for them. Panics where these are not as many.
    pub fn show_scored(&self, tokens: &[Token], logs: &[f32]) {
        assert_eq!(tokens.len(), logs.len(), "each token that is shown has a log-probability");
        unsafe { abi::show(tokens.as_ptr() as *const u8, logs.as_ptr() as *const u8, tokens.len() as i32) };
    }
}

/// Puts the handles of the branches that are ready first, and returns how many these are.
fn wait(handles: &mut [i32], k: usize, flags: i32) -> usize {
    unsafe { abi::branches_wait(handles.as_mut_ptr() as *mut u8, handles.len() as i32, k as i32, flags) }.max(0) as usize
}

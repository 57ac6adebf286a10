// SPDX-License-Identifier: MIT

use crate::{abi, host, Branch, Chain, Token};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The request of a program, which [`crate::Plugin::run`] gets: it opens branches, and shows tokens
/// to the client.
#[derive(Debug)]
pub struct Run(());

/// Errors that a correct program may get. `?` turns one into the reason for which a request is
/// refused, as in every method of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchError {
    /// As many branches are open as the manifest, or the property of the config that it names,
    /// allows.
    NoneFree,
    /// A branch has no room for so many tokens.
    ContextFull,
    /// The program has put as many tokens into branches as it may.
    Budget,
    /// No token is possible after the branch.
    NoToken,
    /// The host cannot do it, or refuses what it was given, for this reason.
    Refused(String),
}

impl fmt::Display for BranchError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            BranchError::NoneFree => f.write_str("no branch is free: the plugin's manifest says how many there may be"),
            BranchError::ContextFull => f.write_str("the context is full"),
            BranchError::Budget => f.write_str("the program has put as many tokens into branches as it may"),
            BranchError::NoToken => f.write_str("no token is possible after the branch"),
            BranchError::Refused(reason) => f.write_str(reason),
        }
    }
}

impl From<BranchError> for String {
    fn from(e: BranchError) -> String {
        e.to_string()
    }
}

/// A result of the host: a count or a handle, or an error.
pub(crate) fn checked(answer: i32) -> Result<i32, BranchError> {
    match answer {
        abi::BRANCH_NONE_FREE => Err(BranchError::NoneFree),
        abi::BRANCH_CONTEXT_FULL => Err(BranchError::ContextFull),
        abi::BRANCH_BUDGET => Err(BranchError::Budget),
        abi::BRANCH_NO_TOKEN => Err(BranchError::NoToken),
        code if code < 0 => Err(BranchError::Refused(host::text(host::filled(256, |p, n| unsafe { abi::branch_reason(p, n) })))),
        answer => Ok(answer),
    }
}

// The imports read or write within the pointers and lengths given, and those come from slices.
// Safety of each call below follows from that.

impl Run {
    /// It exists while the program runs.
    pub(crate) fn begin() -> Run {
        Run(())
    }

    /// The maximum number of tokens in the answer: the client's limit, or the room that there is if
    /// that is less.
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

    /// Opens a branch with the prompt that the model's template makes from messages, a JSON list,
    /// after which the assistant answers.
    pub fn open_messages(&self, messages: &str) -> Result<Branch<'_>, BranchError> {
        Branch::opened(unsafe { abi::branch_open_messages(messages.as_ptr(), messages.len() as i32) })
    }

    /// Opens a sampler chain with the request's parameters, changed by those of a JSON object such
    /// as `{"temperature": 1.2, "top_k": 40}`. There may be up to 64.
    pub fn chain(&self, parameters: &str) -> Result<Chain, BranchError> {
        checked(unsafe { abi::chain_open(parameters.as_ptr(), parameters.len() as i32) }).map(Chain)
    }

    /// Keeps the branches that `places` names, in that order. A branch that is named several times
    /// is forked. Branches that are not named are dropped first, so that forks take over their
    /// places and their cells. This is what a search does between two steps.
    pub fn select<'r>(&'r self, branches: Vec<Branch<'r>>, places: &[usize]) -> Result<Vec<Branch<'r>>, BranchError> {
        let mut left: Vec<usize> = (0..branches.len()).map(|i| places.iter().filter(|p| **p == i).count()).collect();
        let mut branches: Vec<Option<Branch>> = branches.into_iter().zip(&left).map(|(b, n)| Some(b).filter(|_| *n > 0)).collect();
        let mut selected = Vec::new();
        for place in places {
            left[*place] -= 1;
            selected.push(match &branches[*place] {
                Some(branch) if left[*place] > 0 => branch.fork()?,
                _ => branches[*place].take().expect("its last use is the only one that takes it"),
            });
        }
        Ok(selected)
    }

    /// Waits until the model has computed all of some branches; `k` is how many candidates
    /// [`Branch::best`] will be asked for. What was shown is sent. A wait for no branch only does
    /// that. If no token was appended to a branch since it was forked or cut, its row counts as a
    /// token that is put into it.
    pub fn wait<'a, 'r: 'a>(&'r self, k: usize, branches: impl IntoIterator<Item = &'a Branch<'r>>) -> Result<(), BranchError> {
        let mut handles: Vec<i32> = branches.into_iter().map(Branch::handle).collect();
        wait(&mut handles, k, 0).map(|_| ())
    }

    /// Waits until the model has computed any of some branches, and returns the places of those
    /// that are ready. Which are ready first depends on what else the server computes, and not on
    /// the seed: an answer that depends on it is not the same each time.
    pub fn wait_any<'a, 'r: 'a>(&'r self, k: usize, branches: impl IntoIterator<Item = &'a Branch<'r>>) -> Result<Vec<usize>, BranchError> {
        let mut handles: Vec<i32> = branches.into_iter().map(Branch::handle).collect();
        let given = handles.clone();
        let n = wait(&mut handles, k, abi::WAIT_ANY)?;
        Ok(given.iter().enumerate().filter(|(_, handle)| handles[..n].contains(handle)).map(|(place, _)| place).collect())
    }

    /// How many answers the client asked for: the request's `n`. [`Run::show`] is for the first,
    /// [`Run::show_choice`] for any.
    pub fn choices(&self) -> usize {
        host::param(abi::PARAM_CHOICES).max(1) as usize
    }

    /// Shows tokens to the client. Stop strings, limits and end tokens end the answer and the
    /// program with it.
    pub fn show(&self, tokens: &[Token]) {
        self.show_choice(0, tokens, None);
    }

    /// Shows tokens with their log-probabilities, for clients that ask for them. Panics if there
    /// are not as many of these.
    pub fn show_scored(&self, tokens: &[Token], logs: &[f32]) {
        self.show_choice(0, tokens, Some(logs));
    }

    /// Shows tokens of one of the choices, and returns false if it has already ended. When all have
    /// ended, so does the program. Panics if there are log-probabilities, but not as many as
    /// tokens.
    pub fn show_choice(&self, choice: usize, tokens: &[Token], logs: Option<&[f32]>) -> bool {
        assert!(logs.map_or(true, |l| l.len() == tokens.len()), "each token that is shown has a log-probability, or none has");
        let logs = logs.map_or(core::ptr::null(), |l| l.as_ptr() as *const u8);
        unsafe { abi::show(choice as i32, tokens.as_ptr() as *const u8, logs, tokens.len() as i32) == 0 }
    }

    /// Lets a choice continue from a branch, as it is now, once [`crate::Plugin::run`] has
    /// returned: as an answer without a program, with the request's samplers and other plugins. The
    /// first `from` tokens are its prompt, and the others are shown. If something of the choice was
    /// already shown, the branch must begin with the request's prompt, of length `from`, followed
    /// by what was shown.
    pub fn adopt(&self, choice: usize, branch: &Branch, from: usize) {
        unsafe { abi::adopt(choice as i32, branch.handle(), from as i32) };
    }
}

/// Moves the handles of the branches that are ready to the front, and returns how many there are.
fn wait(handles: &mut [i32], k: usize, flags: i32) -> Result<usize, BranchError> {
    checked(unsafe { abi::branches_wait(handles.as_mut_ptr() as *mut u8, handles.len() as i32, k as i32, flags) }).map(|n| n as usize)
}

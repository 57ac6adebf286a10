// SPDX-License-Identifier: MIT

//! Answers what a program asks. The test's own function stands in for the model.

use super::host::{ask, beginning, give, State};
use super::Session;
use crate::glue::{Exported, Instance};
use crate::{abi, json, Token};
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

/// The logits after some tokens, one for each token of the vocabulary.
#[derive(Clone)]
pub(super) struct Model(pub Rc<dyn Fn(&[Token]) -> Vec<f32>>);

// A test that catches a panic is over with the request.
impl UnwindSafe for Model {}
impl RefUnwindSafe for Model {}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Model")
    }
}

/// A token that a program has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The token.
    pub token: Token,
    /// Its log-probability, where the program has told it.
    pub logprob: Option<f32>,
}

/// A program at work.
#[derive(Default)]
pub(super) struct Program {
    open: BTreeMap<i32, Branch>,
    next: i32,
    most: usize,
    tokens: usize, // put into branches so far
    pub waits: u64,
    shown: Vec<Shown>,
    computed: usize,
}

#[derive(Clone)]
struct Branch {
    tokens: Vec<Token>,
    scores: Vec<f32>, // by token: NaN of one that has none, AWAITED of one that is yet to be computed
    row: Option<Rc<Vec<f32>>>,
}

const AWAITED: f32 = f32::INFINITY;

impl<P: Exported> Session<P> {
    /// Runs the plugin, which is a program, and returns what it has shown, or the reason why it refuses the request. [`super::Request::says`]
    /// is the model that it asks. Panics where the host would end the request: where the program reads what it has not waited for, say.
    #[track_caller]
    pub fn run(&mut self) -> Result<Vec<Shown>, String> {
        assert!(P::METHODS.run, "the plugin has no method run");
        assert!(self.state.request.says.is_some(), "the request has no model that the program could ask; see Request::says");
        let asked = json::parse(&self.state.config).ok().and_then(|c| c.get(P::MANIFEST.branches_config)?.integer());
        let most = asked.map_or(P::MANIFEST.branches, |n| P::MANIFEST.branches.min(n as u32)).max(1) as usize;
        self.state.program = Some(Program { most, ..Program::default() });
        let answer = self.call(Instance::run);
        let program = self.state.program.take().expect("nobody else takes it");
        self.state.computed = program.computed;
        if answer == 0 {
            Ok(program.shown)
        } else {
            Err(self.state.failed.clone())
        }
    }

    /// How many rows the program that ran last has waited for.
    pub fn computed(&self) -> usize {
        self.state.computed
    }
}

impl State {
    fn program(&mut self) -> &mut Program {
        self.program.as_mut().expect("branches belong to the method run")
    }

    /// The branch of a handle, which must be open.
    fn branch(&mut self, handle: i32) -> &mut Branch {
        self.program().open.get_mut(&handle).unwrap_or_else(|| panic!("no branch has the handle {}, or it is closed", handle))
    }

    fn row(&mut self, handle: i32) -> Rc<Vec<f32>> {
        self.branch(handle).row.clone().expect("the branch has no row; wait for it")
    }

    fn keep(&mut self, branch: Branch) -> i32 {
        let p = self.program();
        if p.open.len() == p.most {
            return abi::BRANCH_NONE_FREE;
        }
        p.open.insert(p.next, branch);
        p.next += 1;
        p.next - 1
    }

    /// Why so many tokens more are not taken by a branch that has some already.
    fn refused(&mut self, has: usize, more: usize) -> Option<i32> {
        let (context, prompt, max_tokens) = (self.request.context_size, self.prompt_len(), self.request.max_tokens);
        if context > 0 && has + more >= context {
            return Some(abi::BRANCH_CONTEXT_FULL);
        }
        let p = self.program();
        let most = prompt + p.most * (prompt + if max_tokens > 0 { max_tokens } else { context } + 256);
        if context + max_tokens > 0 && p.tokens + more > most {
            return Some(abi::BRANCH_BUDGET);
        }
        p.tokens += more;
        None
    }

    pub fn branch_open(&mut self, mut tokens: Vec<Token>) -> i32 {
        if tokens.is_empty() {
            tokens = self.request.prompt.clone();
        }
        self.must_know("a branch", &tokens);
        let p = self.program();
        if p.open.len() == p.most {
            return abi::BRANCH_NONE_FREE;
        }
        if let Some(code) = self.refused(0, tokens.len()) {
            return code;
        }
        let scores = std::vec![f32::NAN; tokens.len()];
        self.keep(Branch { tokens, scores, row: None })
    }

    pub fn branch_fork(&mut self, handle: i32) -> i32 {
        let branch = self.branch(handle).clone();
        self.keep(branch)
    }

    pub fn branch_close(&mut self, handle: i32) -> i32 {
        self.branch(handle);
        self.program().open.remove(&handle);
        0
    }

    pub fn branch_cut(&mut self, handle: i32, len: i32) -> i32 {
        let branch = self.branch(handle);
        let has = branch.tokens.len();
        assert!(len >= 1 && len as usize <= has, "a branch of {} tokens is cut to {}", has, len);
        if (len as usize) < has {
            branch.tokens.truncate(len as usize);
            branch.scores.truncate(len as usize);
            branch.row = None;
        }
        0
    }

    pub fn branch_append(&mut self, handle: i32, tokens: &[Token], flags: i32) -> i32 {
        self.must_know("a branch", tokens);
        assert_eq!(flags & !abi::APPEND_SCORED, 0, "flags of an append");
        let has = self.branch(handle).tokens.len();
        if let Some(code) = self.refused(has, tokens.len()) {
            return code;
        }
        let branch = self.branch(handle);
        for token in tokens {
            let score = match branch.row.take() {
                _ if flags & abi::APPEND_SCORED == 0 => f32::NAN,
                Some(row) => row[*token as usize] - sums(&row).0,
                None => AWAITED,
            };
            branch.tokens.push(*token);
            branch.scores.push(score);
        }
        branch.tokens.len() as i32
    }

    pub unsafe fn branch_tokens(&mut self, handle: i32, from: i32, p: *mut u8, limit: i32) -> i32 {
        let tokens = &self.branch(handle).tokens;
        give(&tokens[beginning(from, tokens.len())..], p, limit)
    }

    pub unsafe fn branch_candidates(&mut self, handle: i32, k: i32, p: *mut u8) -> i32 {
        assert!((0..=abi::LIMIT_CANDIDATES).contains(&i64::from(k)), "{} candidates", k);
        let (row, k) = (self.row(handle), k as usize);
        let mut ids: Vec<Token> = (0..row.len() as Token).filter(|t| row[*t as usize] > f32::NEG_INFINITY).collect();
        ids.sort_by(|a, b| row[*b as usize].total_cmp(&row[*a as usize])); // stable: lower ids first among equals
        ids.truncate(k);
        let (log_sum, entropy) = sums(&row);
        let to = core::slice::from_raw_parts_mut(p as *mut u32, 2 + 2 * k);
        to[0] = log_sum.to_bits();
        to[1] = entropy.to_bits();
        for (i, token) in ids.iter().enumerate() {
            to[2 + i] = *token;
            to[2 + k + i] = row[*token as usize].to_bits();
        }
        ids.len() as i32
    }

    pub unsafe fn branch_logits(&mut self, handle: i32, p: *mut u8, limit: i32) -> i32 {
        give(&self.row(handle), p, limit)
    }

    pub unsafe fn branch_scores(&mut self, handle: i32, from: i32, p: *mut u8, limit: i32) -> i32 {
        let scores = &self.branch(handle).scores;
        assert!(from >= 0 && from as usize <= scores.len(), "scores from token {} of {}", from, scores.len());
        let scores = &scores[from as usize..];
        assert!(!scores.contains(&AWAITED), "scores are read that are yet to be computed; wait for the branch");
        give(scores, p, limit)
    }

    pub fn show(&mut self, tokens: &[Token], logs: Option<&[f32]>) -> i32 {
        self.must_know("show", tokens);
        for (i, token) in tokens.iter().enumerate() {
            let logprob = logs.map(|l| l[i]);
            assert!(logprob.map_or(true, |l| l <= 0.0), "token {} is shown with the log-probability {:?}", token, logprob);
            self.program().shown.push(Shown { token: *token, logprob });
        }
        0
    }
}

/// The log-sum-exp of a row and its entropy.
fn sums(row: &[f32]) -> (f32, f32) {
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max) as f64;
    let (mut sum, mut weighted) = (0.0, 0.0);
    for d in row.iter().map(|l| f64::from(*l) - highest).filter(|d| d.exp() > 0.0) {
        sum += d.exp();
        weighted += d.exp() * d;
    }
    ((highest + sum.ln()) as f32, (sum.ln() - weighted / sum) as f32)
}

/// Waits for branches, which are ready at once.
pub(super) fn wait(handles: &[i32], k: i32, flags: i32) -> i32 {
    let most = ask(|s| s.program().most);
    assert!(
        handles.len() <= most && (0..=abi::LIMIT_CANDIDATES).contains(&i64::from(k)) && flags & !abi::WAIT_ANY == 0,
        "a wait for {} branches, {} candidates and the flags {:#x}",
        handles.len(),
        k,
        flags
    );
    for handle in handles {
        let branch = ask(|s| s.branch(*handle).clone());
        if branch.row.is_some() {
            continue;
        }
        let (row, scores) = computed(&branch);
        ask(|s| {
            let branch = s.branch(*handle);
            branch.row = Some(Rc::new(row));
            branch.scores = scores;
            s.program().computed += 1;
        });
    }
    ask(|s| s.program().waits += 1);
    handles.len() as i32
}

/// What the model says after a branch, and its tokens' log-probabilities. The model is the test's, so nothing is borrowed meanwhile.
fn computed(branch: &Branch) -> (Vec<f32>, Vec<f32>) {
    let (says, n) = ask(|s| (s.request.says.clone().expect("run asks for it"), s.vocab_size()));
    let row = |len: usize| {
        let row = says.0(&branch.tokens[..len]);
        assert_eq!(row.len(), n, "the model gives a logit for each token of the vocabulary");
        row
    };
    let mut scores = branch.scores.clone();
    for at in 1..scores.len() {
        if scores[at] == AWAITED {
            let before = row(at);
            scores[at] = before[branch.tokens[at] as usize] - sums(&before).0;
        }
    }
    (row(branch.tokens.len()), scores)
}

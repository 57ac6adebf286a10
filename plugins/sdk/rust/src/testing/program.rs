// SPDX-License-Identifier: MIT

//! Answers the calls of a program. A function of the test stands in for the model.

use super::draw::{self, Going, Parameters};
use super::host::{ask, beginning, give, State};
use super::record::{list, Call};
use super::rows::sums;
use super::Session;
use crate::glue::{Exported, Instance};
use crate::{abi, json, Token, MEDIA_TOKEN};
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

/// The logits after some tokens, one for each token of the vocabulary.
#[derive(Clone)]
pub(super) struct Model(pub Rc<dyn Fn(&[Token]) -> Vec<f32>>);

/// A token that a program has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The token.
    pub token: Token,
    /// Its log-probability, if the program has passed it.
    pub logprob: Option<f32>,
    /// The choice that it belongs to, from 0.
    pub choice: usize,
}

/// A choice that continues from a branch after the program has returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Adopted {
    /// The choice, from 0.
    pub choice: usize,
    /// The branch's tokens.
    pub tokens: Vec<Token>,
    /// How many of them are the prompt.
    pub from: usize,
}

/// The prompt that a template makes of messages, as tokens or as text, or why it does not.
#[derive(Clone)]
pub(super) struct Template<T>(pub Rc<dyn Fn(&str) -> Result<T, String>>);

// A test that catches a panic is over with the request.
impl UnwindSafe for Model {}
impl RefUnwindSafe for Model {}
impl<T> UnwindSafe for Template<T> {}
impl<T> RefUnwindSafe for Template<T> {}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Model")
    }
}

impl<T> fmt::Debug for Template<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Template")
    }
}

/// A running program.
#[derive(Default)]
pub(super) struct Program {
    open: BTreeMap<i32, Branch>,
    next: i32,
    most: usize,
    tokens: usize, // put into branches so far
    pub waits: u64,
    pub chains: Vec<Parameters>, // besides the request's
    pub reason: String,          // of the last refusal
    pub deeds: Vec<String>, // since the last wait, as a session's file has them
    pub steps: Vec<(String, usize)>, // the deeds of each until a wait, and how many outputs there were then
    shown: Vec<Shown>,
    adopted: Vec<Adopted>,
    pub computed: usize,
}

#[derive(Clone)]
pub(super) struct Branch {
    pub tokens: Vec<Token>,
    pub scores: Vec<f32>, // by token: NaN of one that has none, AWAITED of one that is yet to be computed
    pub row: Option<Rc<Vec<f32>>>,
    pub state: i32,
    grown: bool, // a token was added since it was forked or cut
    pub run: Option<Going>,       // begins with the next wait
    pub draws: HashMap<i32, u64>, // made with its generators, by their chains
}

pub(super) const AWAITED: f32 = f32::INFINITY;

impl Branch {
    fn new(tokens: Vec<Token>) -> Branch {
        let scores = std::vec![f32::NAN; tokens.len()];
        Branch { tokens, scores, row: None, state: abi::STATE_PENDING, grown: true, run: None, draws: HashMap::new() }
    }

    /// Appends a token. The first one's score is known if there is a row.
    pub fn add(&mut self, token: Token, flags: i32) {
        let score = match self.row.take() {
            _ if flags & abi::APPEND_SCORED == 0 => f32::NAN,
            Some(row) => row[token as usize] - sums(&row).0,
            None => AWAITED,
        };
        self.grown = true;
        self.tokens.push(token);
        self.scores.push(score);
        self.state = abi::STATE_PENDING;
    }
}

impl<P: Exported> Session<P> {
    /// Runs the plugin, which is a program, and returns what it has shown, or the reason for which
    /// it refuses the request. [`super::Request::says`] is the model. Panics where the host would
    /// end the request, for example if the program reads a row that it has not waited for.
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
        self.state.adopted = program.adopted;
        for (deeds, outputs) in program.steps {
            self.note_step(Call::new("step").with("deeds", deeds), outputs);
        }
        let run = Call::new("run").with("deeds", list(&program.deeds)).with("answer", answer);
        self.note(if answer == 0 { run } else { run.with("refusal", json::quote(&self.state.failed)) });
        if answer == 0 {
            Ok(program.shown)
        } else {
            Err(self.state.failed.clone())
        }
    }

    /// The choices that continue without the program that ran last, as it asked.
    pub fn adopted(&self) -> &[Adopted] {
        &self.state.adopted
    }

    /// How many rows the program that ran last has waited for.
    pub fn computed(&self) -> usize {
        self.state.computed
    }
}

impl State {
    pub fn program(&mut self) -> &mut Program {
        self.program.as_mut().expect("branches belong to the method run")
    }

    /// The branch of a handle, which must be open.
    pub fn branch(&mut self, handle: i32) -> &mut Branch {
        self.program().open.get_mut(&handle).unwrap_or_else(|| panic!("no branch has the handle {}, or it is closed", handle))
    }

    /// A branch that does not run.
    pub fn still(&mut self, handle: i32) -> &mut Branch {
        let branch = self.branch(handle);
        assert!(branch.run.is_none(), "the branch goes on by itself; wait for it");
        branch
    }

    pub fn row(&mut self, handle: i32) -> Rc<Vec<f32>> {
        self.still(handle).row.clone().expect("the branch has no row; wait for it")
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
    pub fn refused(&mut self, has: usize, more: usize) -> Option<i32> {
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
        } else {
            self.must_know("a branch", &tokens);
        }
        self.begun_with(tokens)
    }

    pub fn begun_with(&mut self, tokens: Vec<Token>) -> i32 {
        let words: Vec<Token> = tokens.iter().copied().filter(|t| *t != MEDIA_TOKEN).collect();
        self.must_know("a prompt", &words);
        let p = self.program();
        if p.open.len() == p.most {
            return abi::BRANCH_NONE_FREE;
        }
        if let Some(code) = self.refused(0, tokens.len()) {
            return code;
        }
        self.keep(Branch::new(tokens))
    }

    pub fn branch_fork(&mut self, handle: i32) -> i32 {
        let branch = Branch { draws: HashMap::new(), grown: false, ..self.still(handle).clone() };
        self.keep(branch)
    }

    pub fn branch_close(&mut self, handle: i32) -> i32 {
        self.branch(handle);
        self.program().open.remove(&handle);
        0
    }

    pub fn branch_cut(&mut self, handle: i32, len: i32) -> i32 {
        let branch = self.still(handle);
        let has = branch.tokens.len();
        assert!(len >= 1 && len as usize <= has, "a branch of {} tokens is cut to {}", has, len);
        if (len as usize) < has {
            branch.tokens.truncate(len as usize);
            branch.scores.truncate(len as usize);
            branch.row = None;
            branch.grown = false;
            branch.state = abi::STATE_PENDING;
        }
        0
    }

    pub fn branch_append(&mut self, handle: i32, tokens: &[Token], flags: i32) -> i32 {
        self.must_know("a branch", tokens);
        assert_eq!(flags & !abi::APPEND_SCORED, 0, "flags of an append");
        let has = self.still(handle).tokens.len();
        if let Some(code) = self.refused(has, tokens.len()) {
            return code;
        }
        let branch = self.still(handle);
        tokens.iter().for_each(|token| branch.add(*token, flags));
        branch.tokens.len() as i32
    }

    pub unsafe fn branch_tokens(&mut self, handle: i32, from: i32, p: *mut u8, limit: i32) -> i32 {
        let tokens = &self.still(handle).tokens;
        give(&tokens[beginning(from, tokens.len())..], p, limit)
    }

    /// A choice that the client wants, and that is not adopted yet.
    fn choice(&mut self, choice: i32) -> usize {
        let choices = self.request.choices.max(1);
        assert!(choice >= 0 && (choice as usize) < choices, "choice {}; there are {}", choice, choices);
        let adopted = self.program().adopted.iter().any(|a| a.choice == choice as usize);
        assert!(!adopted, "choice {} goes on from a branch already", choice);
        choice as usize
    }

    pub fn show(&mut self, choice: i32, tokens: &[Token], logs: Option<&[f32]>) -> i32 {
        let choice = self.choice(choice);
        self.must_know("show", tokens);
        for (i, token) in tokens.iter().enumerate() {
            let logprob = logs.map(|l| l[i]);
            assert!(logprob.map_or(true, |l| l <= 0.0), "token {} is shown with the log-probability {:?}", token, logprob);
            self.program().shown.push(Shown { token: *token, logprob, choice });
        }
        0
    }

    pub fn adopt(&mut self, choice: i32, handle: i32, from: i32) -> i32 {
        let choice = self.choice(choice);
        let tokens = self.still(handle).tokens.clone();
        assert!(from >= 1 && from as usize <= tokens.len(), "a branch of {} tokens is adopted from {} on", tokens.len(), from);
        let (prompt, mut begun) = (self.prompt_len(), self.request.prompt.clone());
        begun.extend(self.program().shown.iter().filter(|s| s.choice == choice).map(|s| s.token));
        assert!(
            begun.len() == prompt || from as usize == prompt && tokens.starts_with(&begun),
            "choice {} was shown tokens that the adopted branch does not begin with",
            choice
        );
        self.program().adopted.push(Adopted { choice, tokens, from: from as usize });
        0
    }
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
        let (run, again) = ask(|s| {
            let branch = s.branch(*handle);
            (branch.run.take(), !branch.grown && branch.row.is_none())
        });
        match run {
            Some(run) => draw::go_on(*handle, run),
            None if again && ask(|s| s.refused(0, 1)).is_some() => return abi::BRANCH_BUDGET,
            None => drop(compute(*handle)),
        }
    }
    ask(|s| s.program().waits += 1);
    handles.len() as i32
}

/// The row after a branch, which it has from then on. The model is the test's, so nothing is
/// borrowed while it is asked.
pub(super) fn compute(handle: i32) -> Rc<Vec<f32>> {
    let branch = ask(|s| s.branch(handle).clone());
    if let Some(row) = branch.row {
        return row;
    }
    assert!(branch.tokens.last() != Some(&MEDIA_TOKEN), "a branch ends on a picture or a sound, and nothing can be said after one");
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
    let row = Rc::new(row(branch.tokens.len()));
    ask(|s| {
        let branch = s.branch(handle);
        (branch.row, branch.scores, branch.state) = (Some(row.clone()), scores, abi::STATE_READY);
        s.program().computed += 1;
    });
    row
}

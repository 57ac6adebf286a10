// SPDX-License-Identifier: MIT

//! Answers the calls of programs, and writes down what a program gave and got, so that it can be
//! answered once more without a model.

use super::draw;
use super::host::{ask, give, numbers, text};
use super::program;
use super::record::{self, list};
use super::sha256::sha256;
use crate::abi;
use crate::json::quote;
use core::fmt::Write;
use std::format;
use std::string::String;
use std::vec::Vec;

/// A call that is written down; nothing where nobody asks for it.
struct Deed(Option<(String, String)>);

impl Deed {
    /// `args` are the call's parameters without addresses.
    fn new(import: &str, args: &[i32]) -> Deed {
        Deed(ask(|s| s.recording).then(|| (format!(r#""do":"{}","args":{:?}"#, import, args), String::new())))
    }

    fn gave(mut self, name: &str, value: impl FnOnce() -> String) -> Deed {
        if let Some((members, _)) = &mut self.0 {
            let _ = write!(members, ",\"{}\":{}", name, value()); // a String takes all
        }
        self
    }

    fn got(mut self, name: &str, value: impl FnOnce() -> String) -> Deed {
        if let Some((_, got)) = &mut self.0 {
            let _ = write!(got, "{}\"{}\":{}", if got.is_empty() { "" } else { "," }, name, value());
        }
        self
    }

    fn tokens(self, tokens: &[u32]) -> Deed {
        self.gave("tokens", || format!("{:?}", tokens))
    }

    fn answered(self, answer: i32) -> i32 {
        let deed = self.gave("answer", || format!("{}", answer));
        if let Some((members, got)) = deed.0 {
            let got = if got.is_empty() { got } else { format!(",\"got\":{{{}}}", got) };
            ask(|s| s.program().deeds.push(format!("{{{}{}}}", members, got)));
        }
        answer
    }
}

fn floats(numbers: &[f32]) -> String {
    format!("{}", record::logits(numbers))
}

/// The numbers that were written to `p`, if they fit.
unsafe fn written<T: Copy>(p: *mut u8, n: i32, limit: i32) -> Vec<T> {
    if n > limit {
        Vec::new()
    } else {
        numbers(p, n.max(0))
    }
}

/// A wait ends a step.
unsafe fn wait(p: *mut u8, n: i32, k: i32, flags: i32) -> i32 {
    let handles: Vec<u32> = numbers(p, n);
    let deed = Deed::new("branches_wait", &[n, k, flags]).tokens(&handles);
    let before = ask(|s| s.program().computed);
    let answer = program::wait(&numbers::<i32>(p, n), k, flags);
    let rows = (ask(|s| s.program().computed) - before) as i64;
    let deed = deed.gave("added", || format!("{}", rows * abi::LIMIT_HOOK_FUEL));
    deed.got("tokens", || format!("{:?}", handles)).answered(answer);
    ask(|s| {
        let told = s.outputs.len();
        let deeds = core::mem::take(&mut s.program().deeds);
        s.program().steps.push((list(&deeds), told));
    });
    answer
}

unsafe fn candidates(b: i32, k: i32, p: *mut u8) -> i32 {
    let n = ask(|s| s.branch_candidates(b, k, p));
    let deed = Deed::new("branch_candidates", &[b, k]);
    let (ids, logits): (Vec<u32>, Vec<f32>) = (numbers(p, 2 + 2 * k), numbers(p, 2 + 2 * k));
    let (n, k) = (n as usize, k as usize);
    let deed = deed.got("tokens", || format!("{:?}", &ids[2..2 + n]));
    deed.got("numbers", || floats(&[&logits[..2], &logits[2 + k..2 + k + n]].concat())).answered(n as i32)
}

unsafe fn show(choice: i32, p: *const u8, logs: *const u8, n: i32) -> i32 {
    let logs = (!logs.is_null()).then(|| numbers::<f32>(logs, n));
    let (tokens, mut deed) = (numbers(p, n), Deed::new("show", &[choice, n]));
    deed = deed.tokens(&tokens);
    if let Some(logs) = &logs {
        deed = deed.gave("numbers", || floats(logs));
    }
    deed.answered(ask(|s| s.show(choice, &tokens, logs.as_deref())))
}

unsafe fn mix(b: i32, p: *const u8, n: i32) -> i32 {
    let entries: Vec<[u32; 2]> = numbers(p, n);
    let (branches, weights): (Vec<u32>, Vec<f32>) = entries.iter().map(|e| (e[0], f32::from_bits(e[1]))).unzip();
    let deed = Deed::new("branch_mix", &[b, n]).tokens(&branches).gave("numbers", || floats(&weights));
    deed.answered(ask(|s| s.branch_mix(b, &entries)))
}

/// Safety: callers of the imports hand over what they may.
pub(super) const TABLE: abi::Host = abi::Host {
    branch_open: |p, n| {
        let tokens = unsafe { numbers(p, n) };
        Deed::new("branch_open", &[n]).tokens(&tokens).answered(ask(|s| s.branch_open(tokens.clone())))
    },
    branch_open_messages: |p, n| {
        let messages = unsafe { text(p, n) };
        Deed::new("branch_open_messages", &[n]).gave("text", || quote(&messages)).answered(draw::open_messages(&messages))
    },
    branch_fork: |b| Deed::new("branch_fork", &[b]).answered(ask(|s| s.branch_fork(b))),
    branch_close: |b| Deed::new("branch_close", &[b]).answered(ask(|s| s.branch_close(b))),
    branch_cut: |b, len| Deed::new("branch_cut", &[b, len]).answered(ask(|s| s.branch_cut(b, len))),
    branch_append: |b, p, n, flags| {
        let tokens = unsafe { numbers(p, n) };
        Deed::new("branch_append", &[b, n, flags]).tokens(&tokens).answered(ask(|s| s.branch_append(b, &tokens, flags)))
    },
    branch_tokens: |b, from, p, limit| {
        let n = ask(|s| unsafe { s.branch_tokens(b, from, p, limit) });
        let tokens: Vec<i32> = unsafe { written(p, n, limit) }; // a row of a picture is -1
        Deed::new("branch_tokens", &[b, from, limit]).got("tokens", || format!("{:?}", tokens)).answered(n)
    },
    branches_wait: |p, n, k, flags| unsafe { wait(p, n, k, flags) },
    branch_candidates: |b, k, p| unsafe { candidates(b, k, p) },
    branch_logits: |b, p, limit| {
        let n = ask(|s| unsafe { s.branch_logits(b, p, limit) });
        Deed::new("branch_logits", &[b, limit]).got("numbers", || floats(&unsafe { written(p, n, limit) })).answered(n)
    },
    branch_scores: |b, from, p, limit| {
        let n = ask(|s| unsafe { s.branch_scores(b, from, p, limit) });
        Deed::new("branch_scores", &[b, from, limit]).got("numbers", || floats(&unsafe { written(p, n, limit) })).answered(n)
    },
    branch_mask: |b, p, n| {
        let words: Vec<u32> = unsafe { numbers(p, n) };
        let bytes = || words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        Deed::new("branch_mask", &[b, n]).gave("sha256", || quote(&sha256(&bytes()))).answered(ask(|s| s.branch_mask(b, &words)))
    },
    branch_mix: |b, p, n| unsafe { mix(b, p, n) },
    branch_grammar: |b, grammar| Deed::new("branch_grammar", &[b, grammar]).answered(ask(|s| s.branch_grammar(b, grammar))),
    chain_open: |p, n| {
        let parameters = unsafe { text(p, n) };
        Deed::new("chain_open", &[n]).gave("text", || quote(&parameters)).answered(ask(|s| s.chain_open(&parameters)))
    },
    branch_sample: |b, chain| Deed::new("branch_sample", &[b, chain]).answered(ask(|s| s.branch_sample(b, chain))),
    branch_run: |b, chain, n, flags| Deed::new("branch_run", &[b, chain, n, flags]).answered(ask(|s| s.branch_run(b, chain, n, flags))),
    branch_state: |b| Deed::new("branch_state", &[b]).answered(ask(|s| s.branch_state(b))),
    branch_reason: |p, limit| {
        let reason = ask(|s| s.branch_reason());
        let n = unsafe { give(reason.as_bytes(), p, limit) };
        Deed::new("branch_reason", &[limit]).got("text", || quote(if n > limit { "" } else { &reason })).answered(n)
    },
    show: |choice, p, logs, n| unsafe { show(choice, p, logs, n) },
    adopt: |choice, b, from| Deed::new("adopt", &[choice, b, from]).answered(ask(|s| s.adopt(choice, b, from))),
    ..abi::ABSENT
};

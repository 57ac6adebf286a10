// SPDX-License-Identifier: MIT

//! Draws tokens for a program. They are not the tokens that the host draws, but equally likely.

use super::host::{ask, State};
use super::program::compute;
use crate::{abi, json, Token};
use std::format;
use std::string::String;
use std::vec::Vec;

/// The parameters of a chain that the stand-in knows. Others are read over.
#[derive(Clone)]
pub(super) struct Parameters {
    temperature: f64,
    top_k: i64, // 0 or less: all
    top_p: f64,
    min_p: f64,
}

/// A run that has not begun.
#[derive(Clone)]
pub(super) struct Going {
    chain: i32,
    left: i32,
    flags: i32,
}

impl Parameters {
    /// The host's defaults, changed by JSON objects, each by the next.
    fn read(texts: [&str; 2]) -> Result<Parameters, String> {
        let mut p = Parameters { temperature: 0.8, top_k: 0, top_p: 1.0, min_p: 0.0 };
        for text in texts.into_iter().filter(|t| !t.is_empty()) {
            let value = json::parse(text).map_err(|e| format!("the parameters of a chain: {}", e))?;
            p.temperature = value.read::<Option<f64>>("temperature")?.unwrap_or(p.temperature);
            p.top_k = value.read::<Option<i64>>("top_k")?.unwrap_or(p.top_k);
            p.top_p = value.read::<Option<f64>>("top_p")?.unwrap_or(p.top_p);
            p.min_p = value.read::<Option<f64>>("min_p")?.unwrap_or(p.min_p);
        }
        if p.temperature < 0.0 {
            return Err(format!("temperature is {}; it must be at least 0", p.temperature));
        }
        Ok(p)
    }

    /// Draws a token from a row with a number from [0, 1); none where none is possible.
    fn draw(&self, row: &[f32], uniform: f64) -> Option<Token> {
        let mut ids: Vec<Token> = (0..row.len() as Token).filter(|t| row[*t as usize] > f32::NEG_INFINITY).collect();
        ids.sort_by(|a, b| row[*b as usize].total_cmp(&row[*a as usize]));
        let first = *ids.first()?;
        if self.temperature == 0.0 {
            return Some(first);
        }
        if self.top_k > 0 {
            ids.truncate(self.top_k as usize);
        }
        let weight = |t: &Token, temperature: f64| (f64::from(row[*t as usize] - row[first as usize]) / temperature).exp();
        let (all, mut kept) = (ids.iter().map(|t| weight(t, 1.0)).sum::<f64>(), 0.0);
        let stays = |t: &&Token| {
            let stays = weight(t, 1.0) >= self.min_p && (kept < self.top_p * all || **t == first);
            kept += weight(t, 1.0);
            stays
        };
        let n = ids.iter().take_while(stays).count();
        let sum: f64 = ids[..n].iter().map(|t| weight(t, self.temperature)).sum();
        let mut at = uniform * sum;
        let drawn = ids[..n].iter().find(|t| {
            at -= weight(t, self.temperature);
            at < 0.0
        });
        Some(*drawn.unwrap_or(&ids[n - 1]))
    }
}

impl State {
    fn refuse(&mut self, reason: String) -> i32 {
        self.program().reason = reason;
        abi::BRANCH_REFUSED
    }

    pub fn chain_open(&mut self, text: &str) -> i32 {
        if self.program().chains.len() as i64 >= abi::LIMIT_CHAINS {
            return self.refuse(format!("a program has {} chains at most", abi::LIMIT_CHAINS));
        }
        match Parameters::read([&self.request.sampling, text]) {
            Err(reason) => self.refuse(reason),
            Ok(chain) => {
                let chains = &mut self.program().chains;
                chains.push(chain);
                chains.len() as i32
            }
        }
    }

    /// Chain 0 has the request's parameters.
    fn chain(&mut self, handle: i32) -> Parameters {
        if handle == 0 {
            return Parameters::read([&self.request.sampling, ""]).expect("the request's sampling parameters");
        }
        let chain = self.program().chains.get(handle as usize - 1).cloned();
        chain.unwrap_or_else(|| panic!("no chain has the handle {}", handle))
    }

    /// Each branch has its own generator for each chain.
    fn draw(&mut self, handle: i32, chain: i32) -> Option<Token> {
        let (row, parameters, seed) = (self.row(handle), self.chain(chain), self.request.seed);
        let draws = self.branch(handle).draws.entry(chain).or_insert(0);
        let generator = abi::draw(seed, 0, (1 << 33) + ((chain as u64) << 16) + handle as u64, 0) & u64::from(u32::MAX);
        let uniform = (abi::draw(generator, 0, 0, *draws) >> 11) as f64 / (1u64 << 53) as f64;
        *draws += 1;
        parameters.draw(&row, uniform)
    }

    pub fn branch_sample(&mut self, handle: i32, chain: i32) -> i32 {
        self.draw(handle, chain).map_or(abi::BRANCH_NO_TOKEN, |t| t as i32)
    }

    pub fn branch_state(&mut self, handle: i32) -> i32 {
        let branch = self.branch(handle);
        if branch.run.is_some() {
            abi::STATE_RUNNING
        } else {
            branch.state
        }
    }

    pub fn branch_run(&mut self, handle: i32, chain: i32, n: i32, flags: i32) -> i32 {
        assert!(n >= 1 && flags & !abi::APPEND_SCORED == 0, "a run of {} tokens with the flags {:#x}", n, flags);
        self.chain(chain);
        let (has, context) = (self.still(handle).tokens.len() as i32, self.request.context_size as i32);
        let left = if context > 0 { n.min(context - 1 - has) } else { n };
        if left < 1 {
            return abi::BRANCH_CONTEXT_FULL;
        }
        let branch = self.branch(handle);
        branch.run = Some(Going { chain, left, flags });
        branch.state = abi::STATE_PENDING;
        0
    }

    /// Goes on by a token, and tells whether the run has ended.
    fn step(&mut self, handle: i32, run: &Going) -> bool {
        let drawn = self.draw(handle, run.chain);
        let ended = match drawn {
            None => Some(abi::STATE_STUCK),
            Some(t) if self.request.vocabulary[t as usize].1 & abi::ATTR_END != 0 => Some(abi::STATE_ENDED),
            Some(_) => None,
        };
        let has = self.branch(handle).tokens.len();
        match (ended, drawn) {
            (None, Some(token)) if self.refused(has, 1).is_none() => {
                let branch = self.branch(handle);
                branch.add(token, run.flags);
                branch.state = abi::STATE_RAN;
                return false;
            }
            (ended, _) => self.branch(handle).state = ended.unwrap_or(abi::STATE_RAN),
        }
        true
    }

    pub fn branch_reason(&mut self) -> String {
        self.program().reason.clone()
    }
}

/// Opens a branch with what the test's template makes of messages.
pub(super) fn open_messages(text: &str) -> i32 {
    let template = ask(|s| s.request.template.clone()).expect("the request has no template; see Request::template");
    match template.0(text) {
        Err(reason) => ask(|s| s.refuse(reason)),
        Ok(tokens) if tokens.is_empty() => ask(|s| s.refuse(String::from("the template makes an empty prompt of the messages"))),
        Ok(tokens) => ask(|s| s.begun_with(tokens)),
    }
}

/// Does what a run does.
pub(super) fn go_on(handle: i32, run: Going) {
    for _ in 0..run.left {
        compute(handle);
        if ask(|s| s.step(handle, &run)) {
            return;
        }
    }
}

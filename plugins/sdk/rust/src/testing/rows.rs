// SPDX-License-Identifier: MIT

//! What a program reads of rows, and does to them.

use super::host::{give, State};
use super::program::AWAITED;
use crate::{abi, Token};
use std::rc::Rc;
use std::vec::Vec;

impl State {
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
        let scores = &self.still(handle).scores;
        assert!(from >= 0 && from as usize <= scores.len(), "scores from token {} of {}", from, scores.len());
        let scores = &scores[from as usize..];
        assert!(!scores.contains(&AWAITED), "scores are read that are yet to be computed; wait for the branch");
        give(scores, p, limit)
    }

    pub fn branch_mask(&mut self, handle: i32, words: &[u32]) -> i32 {
        let mut row = self.row(handle).to_vec();
        assert_eq!(words.len(), (row.len() + 31) / 32, "words of a mask for {} tokens", row.len());
        let banned = |t: &usize| words[t / 32] >> (t % 32) & 1 == 0;
        (0..row.len()).filter(banned).for_each(|t| row[t] = f32::NEG_INFINITY);
        self.branch(handle).row = Some(Rc::new(row));
        0
    }

    pub fn branch_mix(&mut self, handle: i32, entries: &[[u32; 2]]) -> i32 {
        let most = abi::LIMIT_BRANCHES as usize;
        assert!((1..=most).contains(&entries.len()), "a sum of {} rows; from 1 to {} may be", entries.len(), most);
        let mut sum = std::vec![0.0; self.row(handle).len()];
        for [other, weight] in entries {
            let weight = f32::from_bits(*weight);
            assert!(weight.is_finite(), "a row is weighted with {}", weight);
            let row = self.row(*other as i32);
            if weight != 0.0 {
                let weighted = |l: f32| if l == f32::NEG_INFINITY { l } else { weight * l };
                sum.iter_mut().zip(row.iter()).for_each(|(sum, l)| *sum += weighted(*l));
            }
        }
        self.branch(handle).row = Some(Rc::new(sum));
        0
    }

    /// As a host without a grammar engine, where no grammar has a handle.
    pub fn branch_grammar(&mut self, handle: i32, grammar: i32) -> i32 {
        self.still(handle);
        assert_eq!(grammar, -1, "no grammar has this handle");
        0
    }
}

/// The log-sum-exp of a row and its entropy.
pub(super) fn sums(row: &[f32]) -> (f32, f32) {
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max) as f64;
    let (mut sum, mut weighted) = (0.0, 0.0);
    for d in row.iter().map(|l| f64::from(*l) - highest).filter(|d| d.exp() > 0.0) {
        sum += d.exp();
        weighted += d.exp() * d;
    }
    ((highest + sum.ln()) as f32, (sum.ln() - weighted / sum) as f32)
}

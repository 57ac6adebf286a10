// SPDX-License-Identifier: MIT

use super::record::{logit, logits as json_of, Call};
use super::Session;
use crate::glue::Exported;
use crate::{abi, bias, Candidates, Choice, Token};
use std::format;
use std::string::String;
use std::vec::Vec;

impl<P: Exported> Session<P> {
    /// Shows the plugin candidates, best first, and returns its decision. `ids` and `logits` then
    /// have the result: candidates that it did not keep have the logit −∞. Candidates with that
    /// logit come last and are not shown.
    #[track_caller]
    pub fn sample(&mut self, ids: &mut [Token], logits: &mut [f32]) -> Choice {
        assert!(self.has(P::METHODS.sample, "penstock_sample"), "the plugin has no method sample, or has declined it");
        assert_eq!(ids.len(), logits.len(), "there must be as many logits as ids");
        let n = logits.iter().position(|x| *x == f32::NEG_INFINITY).unwrap_or(logits.len());
        assert!(logits[n..].iter().all(|x| *x == f32::NEG_INFINITY), "candidates with the logit −∞ come last");
        assert!(logits.windows(2).all(|w| w[0] >= w[1]), "candidates come best first: {:?}", logits);
        self.check("shown", &ids[..n], &logits[..n]);
        let seen = n.min(self.instance.buffers.candidates.len() / 2);
        if seen > 0 {
            let mut view = self.instance.buffers.candidates(seen);
            view.ids_mut().copy_from_slice(&ids[..seen]);
            view.logits_mut().copy_from_slice(&logits[..seen]);
        }
        let mut call = Call::new("sample");
        if seen > 0 {
            call = call.with("ids", format!("{:?}", &ids[..seen])).with("logits", json_of(&logits[..seen]));
        }
        let answer = self.call_with_state(|i| i.sample(seen as i32));
        let choice = self.choice(answer);
        logits[seen..].fill(f32::NEG_INFINITY); // a view of candidates truncates
        match choice {
            Choice::Keep(k) => {
                assert!(k <= seen, "Keep({}) of {} candidates", k, seen);
                logits[k..].fill(f32::NEG_INFINITY);
            }
            Choice::Biased => {
                let mut view = Candidates::new(&mut ids[..seen], &mut logits[..seen]);
                let entries: Vec<(Token, f32)> = bias::entries(&self.instance.buffers.bias).collect();
                for (token, amount) in &entries {
                    self.state.must_know("a bias", &[*token]);
                    assert!(*amount <= f32::MAX, "a bias is {}", amount);
                    view.add(*token, *amount);
                }
                check_logits("left", &logits[..seen]);
                let pairs: Vec<String> = entries.iter().map(|(t, x)| format!("[{},{}]", t, logit(*x))).collect();
                call = call.with("bias", format!("[{}]", pairs.join(",")));
            }
            _ if seen > 0 => {
                let view = self.instance.buffers.candidates(seen);
                ids[..seen].copy_from_slice(view.ids());
                logits[..seen].copy_from_slice(view.logits());
            }
            _ => {}
        }
        call = call.with("answer", answer);
        if choice == Choice::Edited && seen > 0 {
            self.check("left", &ids[..seen], &logits[..seen]);
            call = call.with("left", format!("{{\"ids\":{:?},\"logits\":{}}}", &ids[..seen], json_of(&logits[..seen])));
        }
        self.note(call);
        choice
    }

    /// Shows the plugin a whole row, and returns its decision. `logits` then has the result.
    #[track_caller]
    pub fn sample_row(&mut self, logits: &mut [f32]) -> Choice {
        assert!(self.has(P::METHODS.sample_row, "penstock_sample"), "the plugin has no method sample_row, or has declined it");
        let n = self.instance.buffers.logits.len();
        assert_eq!(logits.len(), n, "a row has a logit for each token of the vocabulary");
        self.instance.buffers.row(n).logits_mut().copy_from_slice(logits);
        let mut call = Call::new("sample").with("logits", json_of(logits));
        let answer = self.call_with_state(|i| i.sample_row(n as i32));
        let choice = self.choice(answer);
        logits.copy_from_slice(self.instance.buffers.row(n).logits());
        check_logits("left", logits);
        call = call.with("answer", answer);
        if choice == Choice::Edited {
            call = call.with("left", format!("{{\"logits\":{}}}", json_of(logits)));
        }
        self.note(call);
        choice
    }

    #[track_caller]
    fn choice(&self, answer: i32) -> Choice {
        match answer {
            abi::SAMPLE_EDITED => Choice::Edited,
            abi::SAMPLE_BIASED => Choice::Biased,
            kept if kept < abi::SAMPLE_EDITED => Choice::Keep((abi::SAMPLE_EDITED - kept) as usize),
            token => {
                self.state.must_know("sample", &[token as Token]);
                Choice::Take(token as Token)
            }
        }
    }

    /// Ends the test where candidates are not what the host would show or take.
    #[track_caller]
    fn check(&self, what: &str, ids: &[Token], logits: &[f32]) {
        self.state.must_know("the view", ids);
        for (i, id) in ids.iter().enumerate() {
            assert!(!ids[..i].contains(id), "candidate {} that is {} is token {}, which another is too", i, what, id);
        }
        if !ids.is_empty() {
            check_logits(what, logits);
        }
    }
}

#[track_caller]
fn check_logits(what: &str, logits: &[f32]) {
    for (i, x) in logits.iter().enumerate() {
        assert!(*x <= f32::MAX, "logit {} that is {} is {}", i, what, x);
    }
    assert!(logits.iter().any(|x| *x >= f32::MIN), "no logit that is {} is above −∞", what);
}

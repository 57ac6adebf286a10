// SPDX-License-Identifier: MIT

use super::record::{self, Call};
use super::host::Shown;
use super::Session;
use crate::glue::{Exported, Instance};
use crate::json::quote;
use crate::{abi, Accepted, Part, Token, Verdict};
use core::mem;
use std::format;
use std::string::String;
use std::vec::Vec;

/// A plugin's constraints for the next token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// The mask, a bit for each token, if there is one.
    pub mask: Option<Vec<u32>>,
    /// Amounts to add to logits.
    pub bias: Vec<(Token, f32)>,
    /// The tokens that come next.
    pub forced: Vec<Token>,
}

impl Prepared {
    /// Whether the mask allows a token; without a mask every token is allowed.
    pub fn allowed(&self, token: Token) -> bool {
        self.mask.as_ref().map_or(true, |m| m.get(token as usize / 32).map_or(false, |w| w >> (token % 32) & 1 == 1))
    }
}

impl<P: Exported> Session<P> {
    /// Calls the plugin's `prepare`.
    #[track_caller]
    pub fn prepare(&mut self) -> Prepared {
        assert!(self.has(P::METHODS.prepare, "penstock_prepare"), "the plugin has no method prepare, or has declined it");
        let filled = self.call(Instance::prepare);
        let (b, n) = (&self.instance.buffers, self.state.vocab_size());
        let mut prepared = Prepared::default();
        let mut call = Call::new("prepare").with("answer", filled);
        if filled & abi::PREPARE_MASK != 0 {
            prepared.mask = Some(b.mask.clone());
            call = call.with("mask", record::mask(&b.mask, n));
            assert!((0..n as Token).any(|t| prepared.allowed(t)), "the mask allows no token");
        }
        if filled & abi::PREPARE_BIAS != 0 {
            let entries = b.bias[1..].chunks(2).take(b.bias[0] as usize);
            prepared.bias = entries.map(|e| (e[0], f32::from_bits(e[1]))).collect();
            let pairs: Vec<String> = prepared.bias.iter().map(|(t, x)| format!("[{},{}]", t, record::logit(*x))).collect();
            call = call.with("bias", format!("[{}]", pairs.join(",")));
            assert!(prepared.bias.iter().all(|(_, amount)| !amount.is_nan()), "a bias is NaN: {:?}", prepared.bias);
        }
        if filled & abi::PREPARE_FORCE != 0 {
            prepared.forced = b.splice[2..2 + b.splice[1] as usize].to_vec();
            self.state.must_know("force", &prepared.forced);
            call = call.with("force", format!("{:?}", prepared.forced));
        }
        self.note(call);
        prepared
    }

    /// Sets the log-probability of the next accepted token only.
    pub fn logprob(&mut self, logprob: f32) {
        self.state.logprob = Some(logprob);
    }

    /// Sets the hidden state that `sample`, `accept` and `stop` get from now on; empty: it is not
    /// known. Tokens of a splice have none.
    pub fn hidden_state(&mut self, state: &[f32]) {
        self.state.hidden_state = state.to_vec();
    }

    /// Sets the part that the answer is in from now on. It is unknown in a new session.
    pub fn part(&mut self, part: Part) {
        self.state.part = Some(part);
    }

    /// Appends a token to the history and calls the plugin's `accept`, if it has one. If the plugin
    /// asks for a splice, tokens are taken back and inserted; the inserted tokens are accepted as
    /// well.
    #[track_caller]
    pub fn accept(&mut self, token: Token) -> Accepted {
        self.state.must_know("accept", &[token]);
        let accepted = self.accept_one(token, true);
        self.state.logprob = None;
        if let Accepted::Splice { tokens, .. } = &accepted {
            if !tokens.is_empty() {
                self.state.hidden_state.clear();
            }
            for token in tokens {
                let again = self.accept_one(*token, true);
                assert!(!matches!(again, Accepted::Splice { .. }), "a splice in answer to a token that was spliced itself");
            }
        }
        accepted
    }

    /// Accepts one token, and takes back what a splice says. If the token is replayed after the
    /// plugin was started again, the call is not recorded.
    #[track_caller]
    fn accept_one(&mut self, token: Token, first: bool) -> Accepted {
        self.state.history.push(token);
        let mut call = Call::new("accept").with("token", token);
        if let Some(logprob) = self.state.logprob.filter(|_| first) {
            call = call.with("logprob", record::logit(logprob));
        }
        let mut accepted = Accepted::Continue;
        if self.has(P::METHODS.accept, "penstock_accept") {
            self.state.accepting = first;
            let answer = self.call_with_state(|i| i.accept(token as i32));
            self.state.accepting = false;
            call = call.with("answer", answer);
            match answer {
                abi::ACCEPT_STOP => accepted = Accepted::Stop,
                abi::ACCEPT_SPLICE if first => {
                    let (backtrack, tokens) = self.splice();
                    call = call.with("splice", format!("{{\"backtrack\":{},\"tokens\":{:?}}}", backtrack, tokens));
                    accepted = Accepted::Splice { backtrack, tokens };
                }
                _ => {}
            }
        }
        if first {
            self.note(call);
        }
        accepted
    }

    /// Takes back what a splice says, and returns it.
    #[track_caller]
    fn splice(&mut self) -> (usize, Vec<Token>) {
        let splice = &self.instance.buffers.splice;
        let (backtrack, tokens) = (splice[0] as usize, splice[2..2 + splice[1] as usize].to_vec());
        let most = (self.state.history.len() - self.state.prompt_len()).min(self.state.hold);
        assert!(backtrack <= most, "a splice takes {} tokens back; hold and what was generated allow {}", backtrack, most);
        self.state.must_know("the splice", &tokens);
        self.state.history.truncate(self.state.history.len() - backtrack);
        (backtrack, tokens)
    }

    /// Takes tokens back, as another plugin or a user would: `len` are left, prompt included. A
    /// plugin without a method for it is started again if it was told something that no longer
    /// holds; then the tokens and the text are replayed to it.
    #[track_caller]
    pub fn rewind(&mut self, len: usize) {
        let prompt = self.state.prompt_len();
        assert!((prompt..=self.state.history.len()).contains(&len), "{} tokens cannot be left of {}", len, self.state.history.len());
        self.state.history.truncate(len);
        let left = self.state.shown.iter().take_while(|shown| shown.after <= len).count();
        let unseen = left < self.state.shown.len();
        self.state.shown.truncate(left);
        if self.has(P::METHODS.rewind, "penstock_rewind") {
            let answer = self.call(|i| i.rewind(len as i32));
            assert_eq!(answer, 0, "rewind to {} tokens: {}", len, self.state.failed);
        } else if self.has(P::METHODS.accept, "penstock_accept") || self.has(P::METHODS.stop, "penstock_stop") && unseen {
            self.begin_anew();
        }
        self.note(Call::new("rewind").with("keep", len));
    }

    /// Replaces a plugin that cannot go back by a new one, and replays the remaining tokens and
    /// text to it.
    #[track_caller]
    fn begin_anew(&mut self) {
        let tokens = self.state.history.split_off(self.state.prompt_len());
        let shown = self.state.shown.clone();
        let mut shown = shown.iter().peekable();
        self.state.replaying = true;
        if let Err(reason) = self.begin() {
            panic!("the plugin refuses to be begun anew: {}", reason);
        }
        for token in tokens {
            self.accept_one(token, false);
            while let Some(again) = shown.next_if(|s| s.after <= self.state.history.len()) {
                self.show(again.token, &again.text);
            }
        }
        for again in shown {
            self.show(again.token, &again.text);
        }
        self.state.replaying = false;
    }

    /// Shows the plugin new text.
    #[track_caller]
    pub fn stop(&mut self, token: Token, text: &str) -> Verdict {
        assert!(self.has(P::METHODS.stop, "penstock_stop"), "the plugin has no method stop, or has declined it");
        let answer = self.show(token, text);
        self.state.shown.push(Shown { token, text: String::from(text), after: self.state.history.len() });
        self.note(Call::new("stop").with("token", token).with("text", quote(text)).with("answer", answer));
        match answer {
            abi::STOP_SHOW => Verdict::Show,
            abi::STOP_HOLD => Verdict::Hold,
            abi::STOP_END => Verdict::End,
            abi::STOP_HIDE => Verdict::Hide,
            bytes => Verdict::EndAfter((-bytes - 1) as usize),
        }
    }

    /// Is `stop` without a record.
    #[track_caller]
    fn show(&mut self, token: Token, text: &str) -> i32 {
        let words = &mut self.instance.buffers.text;
        assert!(text.len() <= mem::size_of_val(&words[..]), "{} bytes of text at once", text.len());
        for (word, bytes) in words.iter_mut().zip(text.as_bytes().chunks(4)) {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(bytes);
            *word = u32::from_ne_bytes(four);
        }
        self.call_with_state(|i| i.stop(token as i32, text.len() as i32))
    }
}

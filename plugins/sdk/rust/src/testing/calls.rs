// SPDX-License-Identifier: MIT

//! The calls that come with each token.

use super::host::Call;
use super::Session;
use crate::glue::Exported;
use crate::{abi, bias, Accepted, Candidates, Choice, Next, Row, Token, Verdict, View};
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
    /// Shows the plugin candidates, best first, and returns its decision. `ids` and `logits` then
    /// have the result: candidates that it did not keep have the logit −∞. Candidates with that
    /// logit come last and are not shown.
    #[track_caller]
    pub fn sample(&mut self, ids: &mut [Token], logits: &mut [f32]) -> Choice {
        self.must_have(P::METHODS.sample, "sample");
        assert_eq!(ids.len(), logits.len(), "there must be as many logits as ids");
        assert!(logits.windows(2).all(|w| w[0] >= w[1]), "candidates come best first: {:?}", logits);
        let possible = logits.iter().take_while(|x| **x > f32::NEG_INFINITY).count();
        let most = if P::MANIFEST.view == View::None { 0 } else { P::MANIFEST.candidates as usize };
        let seen = possible.min(most);
        logits[seen..].fill(f32::NEG_INFINITY); // a view of candidates truncates
        let (ids, logits) = (&mut ids[..seen], &mut logits[..seen]);
        self.check("shown", ids, logits);
        let (before, mut biases) = (logits.to_vec(), std::vec![0; 1 + 2 * P::MANIFEST.biases as usize]);
        let choice = self.call(Call::Sample, |p| p.sample(&mut Candidates::biasing(ids, logits, &mut biases)));
        match choice {
            Choice::Edited => self.check("left", ids, logits),
            Choice::Keep(k) => {
                assert!(k.max(1) <= seen, "Keep({}) of {} candidates", k, seen);
                logits.copy_from_slice(&before);
                logits[k.max(1)..].fill(f32::NEG_INFINITY);
            }
            Choice::Biased => {
                logits.copy_from_slice(&before);
                for (token, amount) in bias::entries(&biases) {
                    self.state.must_know("a bias", &[token]);
                    assert!(amount <= f32::MAX, "a bias is {}", amount);
                    Candidates::new(ids, logits).add(token, amount);
                }
                self.check("left", ids, logits);
            }
            Choice::Take(token) => self.state.must_know("sample", &[token]),
        }
        choice
    }

    /// Shows the plugin a whole row, and returns its decision. `logits` then has the result.
    #[track_caller]
    pub fn sample_row(&mut self, logits: &mut [f32]) -> Choice {
        self.must_have(P::METHODS.sample_row, "sample_row");
        assert_eq!(logits.len(), self.state.request.vocabulary.len(), "a row has a logit for each token of the vocabulary");
        let choice = self.call(Call::Sample, |p| p.sample_row(&mut Row::new(logits)));
        match choice {
            Choice::Edited => self.check("left", &[], logits),
            Choice::Take(token) => self.state.must_know("sample_row", &[token]),
            _ => panic!("{:?} is an answer of sample; sample_row edits the row, or takes a token", choice),
        }
        choice
    }

    /// Ends the test where logits are not what the host would show or take.
    #[track_caller]
    fn check(&self, what: &str, ids: &[Token], logits: &[f32]) {
        self.state.must_know("the view", ids);
        for (i, x) in logits.iter().enumerate() {
            assert!(*x <= f32::MAX, "logit {} that is {} is {}", i, what, x);
        }
        assert!(logits.is_empty() || logits.iter().any(|x| *x >= f32::MIN), "no logit that is {} is above −∞", what);
    }

    /// Calls the plugin's `prepare`.
    #[track_caller]
    pub fn prepare(&mut self) -> Prepared {
        self.must_have(P::METHODS.prepare, "prepare");
        let mut mask = core::mem::take(&mut self.mask); // it is as the last call left it
        let mut bias = std::vec![0; 1 + 2 * P::MANIFEST.biases as usize];
        let mut splice = std::vec![0; 2 + P::MANIFEST.splice as usize];
        let mut next = Next { mask: &mut mask, bias: &mut bias, splice: &mut splice, filled: 0 };
        self.call(Call::Other, |p| p.prepare(&mut next));
        let masked = next.filled & abi::PREPARE_MASK != 0;
        self.mask = mask;
        let prepared = Prepared {
            mask: masked.then(|| self.mask.clone()),
            bias: bias::entries(&bias).collect(),
            forced: splice[2..2 + splice[1] as usize].to_vec(),
        };
        let n = self.state.request.vocabulary.len() as Token;
        assert!(!masked || (0..n).any(|t| prepared.allowed(t)), "the mask allows no token");
        assert!(prepared.bias.iter().all(|(_, amount)| !amount.is_nan()), "a bias is NaN: {:?}", prepared.bias);
        self.state.must_know("force", &prepared.forced);
        prepared
    }

    /// The plugin's draft of the next tokens.
    #[track_caller]
    pub fn draft(&mut self) -> Vec<Token> {
        self.must_have(P::METHODS.draft, "draft");
        let most = (abi::LIMIT_DRAFT as usize).min(P::MANIFEST.splice as usize);
        let mut tokens = self.call(Call::Other, |p| p.draft(most));
        tokens.truncate(most);
        self.state.must_know("draft", &tokens);
        tokens
    }

    /// Appends a token to the history and calls the plugin's `accept`, if it has one. If the plugin
    /// asks for a splice, tokens are taken back and inserted; the inserted tokens are accepted as
    /// well.
    #[track_caller]
    pub fn accept(&mut self, token: Token) -> Accepted {
        self.state.must_know("accept", &[token]);
        let accepted = self.accept_one(Call::Accept, token);
        self.state.logprob = None;
        if let Accepted::Splice { backtrack, tokens } = &accepted {
            let (room, length) = (P::MANIFEST.splice as usize, self.state.history.len());
            let most = (length - self.state.request.prompt.len()).min(self.state.hold);
            assert!(*backtrack <= most, "a splice takes {} tokens back; hold and what was generated allow {}", backtrack, most);
            assert!(tokens.len() <= room, "{} tokens at once; the manifest's splice has room for {}", tokens.len(), room);
            self.state.must_know("the splice", tokens);
            self.state.history.truncate(length - backtrack);
            self.state.hidden_state.clear();
            for token in tokens {
                let again = self.accept_one(Call::Other, *token);
                assert!(!matches!(again, Accepted::Splice { .. }), "a splice in answer to a token that was spliced itself");
            }
        }
        accepted
    }

    pub(super) fn accept_one(&mut self, call: Call, token: Token) -> Accepted {
        self.state.history.push(token);
        match self.has(P::METHODS.accept, "accept") {
            true => self.call(call, |p| p.accept(token)),
            false => Accepted::Continue,
        }
    }

    /// Shows the plugin new text.
    #[track_caller]
    pub fn stop(&mut self, token: Token, text: &str) -> Verdict {
        self.must_have(P::METHODS.stop, "stop");
        self.shown.push((token, text.into(), self.state.history.len()));
        self.call(Call::Sample, |p| p.stop(token, text))
    }
}

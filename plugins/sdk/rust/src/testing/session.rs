// SPDX-License-Identifier: MIT

use super::host::{Call, State};
use super::Request;
use crate::glue::Exported;
use crate::json::{self, Value};
use crate::{abi, bias, defaults, table, Accepted, Candidates, Choice, Message, Next, Part, Plan, Row, Token, Verdict, View, Vocabulary};
use std::boxed::Box;
use std::string::{String, ToString};
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

/// A plugin that serves one request. Its methods end the test where the host would end the request.
pub struct Session<P: Exported> {
    state: State,
    mask: Vec<u32>,                     // that prepare left
    shown: Vec<(Token, String, usize)>, // to stop, and how many tokens there were then
    filtered: Vec<(String, String, usize)>, // text that filter was given, what it kept back, and the tokens then
    planned: String,                    // JSON
    plugin: Option<P>,
}

impl<P: Exported> Session<P> {
    /// Begins a request. Panics if the plugin refuses it.
    #[track_caller]
    pub fn open(request: Request) -> Session<P> {
        match Session::try_open(request) {
            Ok(session) => session,
            Err(reason) => panic!("the plugin refuses the request: {}", reason),
        }
    }

    /// Begins a request. The error is the plugin's reason for refusing it.
    #[track_caller]
    pub fn try_open(request: Request) -> Result<Session<P>, String> {
        let given = if request.config.is_empty() { "{}" } else { &request.config };
        let mut config = json::parse(given).unwrap_or_else(|e| panic!("the config is no JSON: {}", e));
        defaults::fill(P::MANIFEST.config_schema, &mut config).unwrap_or_else(|e| panic!("the manifest's {}", e));
        let mut state = State::new(request, config.to_string());
        state.rewrites_and_filters = P::METHODS.rewrite && P::METHODS.filter;
        if P::METHODS.warm {
            state.enter(Call::Warm, || P::warm(&Vocabulary::read()).map(|built| table::keep(Some(Box::leak(built)))))?;
        }
        let mut planned = String::new();
        if P::METHODS.plan {
            let mut plan = Plan::of(&P::MANIFEST);
            state.enter(Call::Plan, || {
                P::plan(&config, &mut plan)?;
                table::keep(plan.table.take().map(|built| &*Box::leak(built)).or_else(table::kept));
                Ok::<(), String>(())
            })?;
            planned = plan.json(&P::MANIFEST, &P::METHODS);
        }
        let mut session = Session { planned, state, mask: Vec::new(), shown: Vec::new(), filtered: Vec::new(), plugin: None };
        session.begin().map(|_| session)
    }

    /// What the plugin's `plan` says of the configuration, JSON; empty: it has none. What a plan
    /// leaves out is still called.
    pub fn planned(&self) -> &str {
        &self.planned
    }

    /// Begins the plugin anew.
    fn begin(&mut self) -> Result<(), String> {
        self.state.declined.clear();
        self.state.most_hold = P::MANIFEST.hold as usize;
        self.state.hold = self.state.most_hold;
        self.mask = std::vec![0; (self.state.request.vocabulary.len() + 31) / 32];
        self.plugin = Some(self.state.enter(Call::Open, || P::open(&crate::Request::read()?))?);
        Ok(())
    }

    /// Whether the plugin has a method, and has not declined its call.
    fn has(&self, written: bool, method: &str) -> bool {
        let export = [("rewrite", "messages"), ("sample_row", "sample")].iter().find(|(m, _)| *m == method).map_or(method, |e| e.1);
        written && !self.state.declined.iter().any(|d| d.strip_prefix("penstock_") == Some(export))
    }

    #[track_caller]
    fn must_have(&self, written: bool, method: &str) {
        assert!(self.has(written, method), "the plugin has no method {}, or has declined it", method);
    }

    /// Calls the plugin as the host does.
    fn call<R>(&mut self, call: Call, f: impl FnOnce(&mut P) -> R) -> R {
        let plugin = self.plugin.as_mut().expect("the request is open");
        self.state.enter(call, || f(plugin))
    }

    /// The prompt's text, or the reason why there is none.
    #[track_caller]
    pub fn render(&mut self) -> Result<String, String> {
        self.must_have(P::METHODS.render, "render");
        let messages = self.messages()?;
        self.call(Call::Prompt, |p| p.render(&messages))
    }

    /// The conversation that the plugin made, JSON, or the reason why it is refused.
    #[track_caller]
    pub fn rewrite(&mut self) -> Result<String, String> {
        self.must_have(P::METHODS.rewrite, "rewrite");
        let messages = self.messages()?;
        let rewritten = self.call(Call::Prompt, |p| p.rewrite(messages))?;
        Ok(Value::Array(rewritten.into_iter().map(Message::into_value).collect()).to_string())
    }

    fn messages(&self) -> Result<Vec<Message>, String> {
        Message::list(&json::parse(&self.state.request.messages).map_err(|e| std::format!("messages: {}", e))?)
    }

    /// A program needs a model, which a native test has not: it panics and says where to test it.
    #[track_caller]
    pub fn run(&mut self) -> ! {
        panic!("programs run in the player: write a case with a model, docs/plugins/programs.md")
    }

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

    fn accept_one(&mut self, call: Call, token: Token) -> Accepted {
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

    /// Gives the plugin text that is about to be shown, after what it kept back, and returns what
    /// is shown now. `last`: nothing follows.
    #[track_caller]
    pub fn filter(&mut self, text: &str, last: bool) -> String {
        self.must_have(P::METHODS.filter, "filter");
        let kept = self.filtered.last().map_or("", |(_, kept, _)| kept.as_str());
        let given = std::format!("{}{}", kept, text);
        let filtered = self.call(Call::Other, |p| p.filter(&given, last));
        let (keep, most) = (filtered.keep, if last { 0 } else { given.len().min(abi::LIMIT_HELD_BYTES as usize) });
        assert!(keep <= most && given.is_char_boundary(given.len() - keep), "filter keeps {} bytes back of {:?}; the last text: {}", keep, given, last);
        let (shown, kept) = given.split_at(given.len() - keep);
        self.filtered.push((text.into(), kept.into(), self.state.history.len()));
        filtered.shown.unwrap_or_else(|| shown.into())
    }

    /// Takes tokens back, as another plugin or a user would: `len` are left, prompt included. A
    /// plugin without a method for it is started again if it was told something that no longer
    /// holds; then the tokens and the text are replayed to it.
    #[track_caller]
    pub fn rewind(&mut self, len: usize) {
        let (prompt, has) = (self.state.request.prompt.len(), self.state.history.len());
        assert!((prompt..=has).contains(&len), "{} tokens cannot be left of {}", len, has);
        self.state.history.truncate(len);
        let shown = self.shown.len() + self.filtered.len();
        self.shown.retain(|(_, _, after)| *after <= len);
        self.filtered.retain(|(_, _, after)| *after <= len);
        if self.has(P::METHODS.rewind, "rewind") {
            let answer = self.call(Call::Other, |p| p.rewind(len));
            assert_eq!(answer, Ok(()), "rewind to {} tokens", len);
        } else if self.has(P::METHODS.accept, "accept") || self.shown.len() + self.filtered.len() < shown {
            self.begin_anew();
        }
    }

    /// Replaces a plugin that cannot go back by a new one, and replays the remaining tokens and
    /// text to it. What it gives the client then is dropped.
    fn begin_anew(&mut self) {
        let (outputs, shown, filtered) = (self.state.outputs.len(), self.shown.clone(), core::mem::take(&mut self.filtered));
        let mut tokens = self.state.history.split_off(self.state.request.prompt.len()).into_iter();
        self.begin().unwrap_or_else(|reason| panic!("the plugin refuses to be begun anew: {}", reason));
        for (token, text, after) in &shown {
            let before = after.saturating_sub(self.state.history.len());
            tokens.by_ref().take(before).for_each(|t| drop(self.accept_one(Call::Other, t)));
            self.call(Call::Other, |p| p.stop(*token, text));
        }
        tokens.for_each(|t| drop(self.accept_one(Call::Other, t)));
        for (text, _, after) in filtered {
            self.filter(&text, false);
            self.filtered.last_mut().expect("it was given text").2 = after;
        }
        self.state.outputs.truncate(outputs);
    }

    /// Sets the log-probability of the next accepted token only.
    pub fn logprob(&mut self, logprob: f32) {
        self.state.logprob = Some(logprob);
    }

    /// Sets the hidden state that `sample`, `accept` and `stop` get until the next splice; empty:
    /// it is not known. Tokens of a splice have none.
    pub fn hidden_state(&mut self, state: &[f32]) {
        self.state.hidden_state = state.to_vec();
    }

    /// Sets the part that the answer is in from now on. It is unknown in a new session.
    pub fn part(&mut self, part: Part) {
        self.state.part = Some(part);
    }

    /// Sets how long ago the request came, in milliseconds. It is 0 in a new session.
    pub fn elapsed(&mut self, milliseconds: u32) {
        self.state.elapsed = milliseconds as i32;
    }

    /// The plugin itself.
    pub fn plugin(&self) -> &P {
        self.plugin.as_ref().expect("the request is open")
    }

    /// All tokens so far, prompt first; `accept` and `rewind` change it.
    pub fn history(&self) -> &[Token] {
        &self.state.history
    }

    /// What the plugin gave the client, JSON.
    pub fn outputs(&self) -> &[String] {
        &self.state.outputs
    }

    /// What the plugin noted of tokens.
    pub fn notes(&self) -> &[String] {
        &self.state.notes
    }

    /// What the plugin logged.
    pub fn logs(&self) -> &[String] {
        &self.state.logs
    }
}

impl<P: Exported> Drop for Session<P> {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.plugin.is_some() && self.has(P::METHODS.close, "close") {
            self.call(Call::Other, P::close);
        }
    }
}

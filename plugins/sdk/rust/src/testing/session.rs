// SPDX-License-Identifier: MIT

use super::host::{Call, State};
use super::Request;
use crate::glue::Exported;
use crate::json::{self, Value};
use crate::{defaults, table, Message, Part, Token, Vocabulary};
use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;

/// A plugin that serves one request. Its methods end the test where the host would end the request.
pub struct Session<P: Exported> {
    pub(super) state: State,
    pub(super) mask: Vec<u32>,                     // that prepare left
    pub(super) shown: Vec<(Token, String, usize)>, // to stop, and how many tokens there were then
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
        if P::METHODS.warm {
            state.enter(Call::Warm, || P::warm(&Vocabulary::read()).map(|built| table::keep(Some(Box::leak(built)))))?;
        }
        let mut session = Session { state, mask: Vec::new(), shown: Vec::new(), plugin: None };
        session.begin().map(|_| session)
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
    pub(super) fn has(&self, written: bool, method: &str) -> bool {
        let export = [("rewrite", "messages"), ("sample_row", "sample")].iter().find(|(m, _)| *m == method).map_or(method, |e| e.1);
        written && !self.state.declined.iter().any(|d| d.strip_prefix("penstock_") == Some(export))
    }

    #[track_caller]
    pub(super) fn must_have(&self, written: bool, method: &str) {
        assert!(self.has(written, method), "the plugin has no method {}, or has declined it", method);
    }

    /// Calls the plugin as the host does.
    pub(super) fn call<R>(&mut self, call: Call, f: impl FnOnce(&mut P) -> R) -> R {
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

    /// Takes tokens back, as another plugin or a user would: `len` are left, prompt included. A
    /// plugin without a method for it is started again if it was told something that no longer
    /// holds; then the tokens and the text are replayed to it.
    #[track_caller]
    pub fn rewind(&mut self, len: usize) {
        let (prompt, has) = (self.state.request.prompt.len(), self.state.history.len());
        assert!((prompt..=has).contains(&len), "{} tokens cannot be left of {}", len, has);
        self.state.history.truncate(len);
        let shown = self.shown.len();
        self.shown.retain(|(_, _, after)| *after <= len);
        if self.has(P::METHODS.rewind, "rewind") {
            let answer = self.call(Call::Other, |p| p.rewind(len));
            assert_eq!(answer, Ok(()), "rewind to {} tokens", len);
        } else if self.has(P::METHODS.accept, "accept") || self.has(P::METHODS.stop, "stop") && self.shown.len() < shown {
            self.begin_anew();
        }
    }

    /// Replaces a plugin that cannot go back by a new one, and replays the remaining tokens and
    /// text to it. What it gives the client then is dropped.
    fn begin_anew(&mut self) {
        let (outputs, shown) = (self.state.outputs.len(), self.shown.clone());
        let mut tokens = self.state.history.split_off(self.state.request.prompt.len()).into_iter();
        self.begin().unwrap_or_else(|reason| panic!("the plugin refuses to be begun anew: {}", reason));
        for (token, text, after) in &shown {
            let before = after.saturating_sub(self.state.history.len());
            tokens.by_ref().take(before).for_each(|t| drop(self.accept_one(Call::Other, t)));
            self.call(Call::Other, |p| p.stop(*token, text));
        }
        tokens.for_each(|t| drop(self.accept_one(Call::Other, t)));
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

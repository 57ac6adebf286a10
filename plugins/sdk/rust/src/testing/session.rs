// SPDX-License-Identifier: MIT

use super::host::State;
use super::record::{Call, Record};
use super::Request;
use crate::glue::{Exported, Instance, Methods};
use crate::{abi, defaults, json, Token};
use std::string::{String, ToString};
use std::vec::Vec;

/// A plugin that serves one request. Its methods end the test if the plugin breaks the ABI.
pub struct Session<P: Exported> {
    pub(super) state: State,
    pub(super) instance: Instance<P>,
    record: Record,
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
        let mut session = Session { state: State::new(request), instance: Instance::new(), record: Record::default() };
        let config = session.configured();
        if P::METHODS.warm && session.call(Instance::warm) != 0 {
            return Err(session.state.failed.clone());
        }
        session.state.begin(&config);
        let begun = session.begin();
        let call = Call::new("open");
        session.note(match &begun {
            Ok(()) => {
                let had: Vec<String> = session.state.declined.iter().filter(|d| implements(&P::METHODS, d)).map(|d| json::quote(d)).collect();
                if had.is_empty() {
                    call
                } else {
                    call.with("declined", std::format!("[{}]", had.join(",")))
                }
            }
            Err(reason) => call.with("refusal", json::quote(reason)),
        });
        begun.map(|_| session)
    }

    /// The config that the host passes.
    #[track_caller]
    fn configured(&self) -> String {
        let given = &self.state.request.config;
        let read = json::parse(if given.is_empty() { "{}" } else { given });
        let mut config = read.unwrap_or_else(|e| panic!("the config is no JSON: {}", e));
        if self.state.has(abi::FEATURE_CONFIG_DEFAULTS) {
            if let Err(reason) = defaults::fill(P::MANIFEST.config_schema, &mut config) {
                panic!("the manifest's {}", reason);
            }
        }
        config.to_string()
    }

    /// Opens an instance in this request.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        self.instance = Instance::new();
        self.state.bound.clear();
        self.state.declined.clear();
        self.state.most_hold = P::MANIFEST.hold as usize;
        self.state.hold = self.state.most_hold;
        self.state.opening = true;
        let answer = self.call(Instance::open);
        self.state.opening = false;
        if answer == 0 {
            return Ok(());
        }
        Err(self.state.failed.clone())
    }

    /// Whether the plugin has a method, and has not declined its export.
    pub(super) fn has(&self, method: bool, export: &str) -> bool {
        method && !self.state.declined.iter().any(|d| d == export)
    }

    /// Writes down a call.
    pub(super) fn note(&mut self, call: Call) {
        self.record.note(&mut self.state, call);
    }

    /// Writes down a step of a program, before which so many outputs were told.
    pub(super) fn note_step(&mut self, call: Call, outputs: usize) {
        self.record.note_until(&mut self.state, call, outputs);
    }

    /// Calls the plugin as the host does at this place.
    pub(super) fn call<R>(&mut self, f: impl FnOnce(&mut Instance<P>) -> R) -> R {
        let instance = &mut self.instance;
        self.state.enter(|| f(instance))
    }

    /// Is `call` with the hidden state of a token.
    pub(super) fn call_with_state<R>(&mut self, f: impl FnOnce(&mut Instance<P>) -> R) -> R {
        self.state.stateful = true;
        let answer = self.call(f);
        self.state.stateful = false;
        answer
    }

    /// The plugin's manifest, JSON.
    pub fn manifest(&mut self) -> String {
        self.call(Instance::describe);
        self.emitted()
    }

    /// The prompt's text, or the reason why there is none.
    #[track_caller]
    pub fn render(&mut self) -> Result<String, String> {
        assert!(P::METHODS.render, "the plugin has no method render");
        self.state.rendering = true;
        let answer = self.call(Instance::render);
        self.state.rendering = false;
        let (call, failed) = (Call::new("render"), self.state.failed.clone());
        if answer == 0 {
            let prompt = self.emitted();
            self.record.rendered(&mut self.state, call.with("prompt", json::quote(&prompt)));
            return Ok(prompt);
        }
        self.record.rendered(&mut self.state, call.with("refusal", json::quote(&failed)));
        Err(failed)
    }

    /// The conversation that the plugin made, JSON, or the reason why it is refused.
    #[track_caller]
    pub fn rewrite(&mut self) -> Result<String, String> {
        assert!(self.has(P::METHODS.rewrite, "penstock_messages"), "the plugin has no method rewrite, or has declined it");
        self.state.rendering = true;
        let answer = self.call(Instance::rewrite);
        self.state.rendering = false;
        let (call, failed) = (Call::new("messages"), self.state.failed.clone());
        if answer == 0 {
            let messages = self.emitted();
            self.record.rendered(&mut self.state, call.with("messages", &messages));
            return Ok(messages);
        }
        self.record.rendered(&mut self.state, call.with("refusal", json::quote(&failed)));
        Err(failed)
    }

    /// The plugin's draft of the next tokens.
    #[track_caller]
    pub fn draft(&mut self) -> Vec<Token> {
        assert!(self.has(P::METHODS.draft, "penstock_draft"), "the plugin has no method draft, or has declined it");
        let most = (abi::LIMIT_DRAFT as usize).min(self.instance.buffers.splice.len() - 2);
        let n = self.call(|i| i.draft(most as i32)) as usize;
        let guessed = self.instance.buffers.splice[2..2 + n].to_vec();
        self.state.must_know("draft", &guessed);
        guessed
    }

    fn emitted(&self) -> String {
        String::from_utf8(self.state.emitted.clone()).expect("what is emitted must be UTF-8")
    }

    /// The plugin itself.
    pub fn plugin(&self) -> &P {
        self.instance.plugin.as_ref().expect("the request is open")
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
        if std::thread::panicking() {
            return;
        }
        if self.has(P::METHODS.close, "penstock_close") && self.instance.plugin.is_some() {
            self.call(Instance::close);
        }
        self.record.write(P::MANIFEST.name, &self.state);
    }
}

/// Whether a plugin has what an export calls, of those that can be declined.
fn implements(has: &Methods, export: &str) -> bool {
    match export {
        "penstock_messages" => has.rewrite,
        "penstock_draft" => has.draft,
        "penstock_prepare" => has.prepare,
        "penstock_sample" => has.sample || has.sample_row,
        "penstock_accept" => has.accept,
        "penstock_stop" => has.stop,
        "penstock_rewind" => has.rewind,
        _ => has.close,
    }
}

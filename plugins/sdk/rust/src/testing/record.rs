// SPDX-License-Identifier: MIT

//! Writes sessions down, each in a file of the folder that PENSTOCK_RECORD names, so that the
//! calls can be made once more under the real runtime. The package host/plugin/session of Penstock
//! describes the format.

use super::host::State;
use crate::json::{quote, Value};
use crate::{abi, Token};
use core::cell::RefCell;
use core::fmt::{Display, Write};
use std::collections::HashMap;
use std::format;
use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;

std::thread_local! {
    /// How many sessions of a name there were on this thread.
    static TIMES: RefCell<HashMap<String, usize>> = RefCell::new(HashMap::new());
}

/// The calls of a session, as JSON.
#[derive(Default)]
pub(super) struct Record {
    calls: Vec<String>,
    render: Option<String>, // the template's call: an instance of its own, and so a session of its own
    told: usize,            // of the outputs
}

/// A call and what came of it: members of a JSON object.
pub(super) struct Call(String);

impl Call {
    pub fn new(name: &str) -> Call {
        Call(format!("\"call\":{}", quote(name)))
    }

    /// Adds a member whose value is JSON already.
    pub fn with(mut self, name: &str, json: impl Display) -> Call {
        let _ = write!(self.0, ",\"{}\":{}", name, json); // a String takes all
        self
    }
}

impl Record {
    pub fn note(&mut self, state: &mut State, call: Call) {
        self.note_until(state, call, state.outputs.len());
    }

    /// Is `note` of a call that came before some outputs.
    pub fn note_until(&mut self, state: &mut State, mut call: Call, outputs: usize) {
        let told = outputs;
        let outputs = &state.outputs[self.told..outputs];
        if !outputs.is_empty() {
            call = call.with("outputs", list(outputs));
        }
        self.told = told;
        if !state.asked.is_empty() {
            call = call.with("asked", list(&core::mem::take(&mut state.asked)));
        }
        self.calls.push(format!("{{{}}}", call.0));
    }

    pub fn rendered(&mut self, state: &mut State, mut call: Call) {
        if !state.asked.is_empty() {
            call = call.with("asked", list(&core::mem::take(&mut state.asked)));
        }
        self.render.get_or_insert(format!("{{{}}}", call.0));
    }

    /// Writes the file, if there is a folder for it. It has the same name the next time.
    pub fn write(&self, plugin: &str, state: &State) {
        let folder = match std::env::var_os("PENSTOCK_RECORD") {
            Some(folder) if self.render.is_some() || !self.calls.is_empty() => folder,
            _ => return,
        };
        let test = std::thread::current().name().unwrap_or("main").replace("::", ".");
        let name = format!("{}.{}", plugin, test);
        let times = TIMES.with(|t| {
            let mut times = t.borrow_mut();
            let n = times.entry(name.clone()).or_insert(0);
            *n += 1;
            *n
        });
        let file = Path::new(&folder).join(format!("{}.{}.json", name, times));
        if let Err(e) = std::fs::write(&file, self.file(&test, plugin, state)) {
            panic!("the session cannot be written to {}: {}", file.display(), e);
        }
    }

    fn file(&self, test: &str, plugin: &str, state: &State) -> String {
        let session = |calls: &[String]| {
            format!(
                r#"{{"name":{},"plugin":{{"name":{}}},"request":{},"calls":{}}}"#,
                quote(test),
                quote(plugin),
                request(state),
                list(calls)
            )
        };
        let mut sessions: Vec<String> = self.render.iter().map(|call| session(core::slice::from_ref(call))).collect();
        if self.render.is_none() || self.calls.len() > 1 {
            sessions.push(session(&self.calls));
        }
        let model = object(&state.request.model);
        format!("{{\"penstock_session\":1,\"vocabulary\":{},\"model\":{},\"sessions\":{}}}\n", vocabulary(state), model, list(&sessions))
    }
}

fn request(state: &State) -> String {
    let r = &state.request;
    let mut out = format!(
        r#""config":{},"prompt":{:?},"max_tokens":{},"context_size":{},"seed":{},"sampling":{}"#,
        object(&r.config),
        r.prompt.iter().map(|t| *t as i32).collect::<Vec<i32>>(), // a row of a picture is -1
        r.max_tokens,
        r.context_size,
        r.seed,
        object(&r.sampling)
    );
    if let Some(time) = r.time {
        let _ = write!(out, ",\"time\":{}", time);
    }
    let _ = write!(out, ",\"choice\":{},\"choices\":{}", r.choice, r.choices);
    if !r.messages.is_empty() {
        let _ = write!(out, ",\"messages\":{}", r.messages);
    }
    if !r.media.is_empty() {
        let _ = write!(out, ",\"media\":{}", r.media);
    }
    format!("{{{}}}", out)
}

fn vocabulary(state: &State) -> String {
    let tokens = &state.request.vocabulary;
    let pieces: Vec<String> = tokens.iter().map(|(piece, _)| text(piece)).collect();
    let kinds = [("control", abi::ATTR_CONTROL), ("end", abi::ATTR_END), ("byte", abi::ATTR_BYTE), ("unused", abi::ATTR_UNUSED)];
    let attributes = kinds.iter().map(|(name, bit)| {
        let having: Vec<usize> = (0..tokens.len()).filter(|t| tokens[*t].1 & bit != 0).collect();
        format!("\"{}\":{:?}", name, having)
    });
    let names = ["bos", "eos", "eot", "newline"];
    let special = state.request.special.iter().map(|(kind, token)| format!("\"{}\":{}", names[*kind as usize], token));
    format!(
        r#"{{"pieces":{},"attributes":{{{}}},"special":{{{}}},"longest_piece":true}}"#,
        if pieces.is_empty() { "[\"\"]".to_string() } else { list(&pieces) },
        attributes.collect::<Vec<_>>().join(","),
        special.collect::<Vec<_>>().join(",")
    )
}

fn object(json: &str) -> &str {
    if json.is_empty() {
        "{}"
    } else {
        json
    }
}

/// Values that are JSON already, as a list.
pub(super) fn list(json: &[String]) -> String {
    format!("[{}]", json.join(","))
}

/// Bytes: a string, or base64 where they are no UTF-8.
pub(super) fn text(bytes: &[u8]) -> String {
    core::str::from_utf8(bytes).map_or_else(|_| format!("{{\"base64\":\"{}\"}}", base64(bytes)), quote)
}

/// The tokens that a mask allows.
pub(super) fn mask(words: &[u32], n: usize) -> String {
    let allowed: Vec<Token> = (0..n as Token).filter(|t| words[*t as usize / 32] >> (t % 32) & 1 == 1).collect();
    format!("{{\"allow\":{:?}}}", allowed)
}

/// A logit, which may be infinite, or a score, which may be none.
pub(super) fn logit(x: f32) -> Value {
    if x.is_nan() {
        Value::String("nan".to_string())
    } else if x == f32::NEG_INFINITY {
        Value::String("-inf".to_string())
    } else {
        Value::Number(x.to_string())
    }
}

pub(super) fn logits(list: &[f32]) -> Value {
    Value::Array(list.iter().map(|x| logit(*x)).collect())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            out.push(if i <= three.len() { DIGITS[(word >> (18 - 6 * i)) as usize & 63] as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_a_string_or_base64() {
        for (bytes, want) in [
            (&b"a\"b"[..], r#""a\"b""#),
            (b"\xff", r#"{"base64":"/w=="}"#),
            (b"\xffab", r#"{"base64":"/2Fi"}"#),
            (b"\xff\xfe\0\x01\x02", r#"{"base64":"//4AAQI="}"#),
        ] {
            assert_eq!(text(bytes), want);
        }
    }
}

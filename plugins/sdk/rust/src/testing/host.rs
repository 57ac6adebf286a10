// SPDX-License-Identifier: MIT

//! Answers what a session's plugin asks of the host.

use super::Request;
use crate::{abi, json, table, Part, Token, Vocabulary};
use core::any::Any;
use core::cell::RefCell;
use core::mem;
use std::string::String;
use std::vec::Vec;

/// The call of the plugin that is being made, as far as answers depend on it.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Call {
    #[default]
    Warm, // the request is not known yet
    Plan,
    Open,
    Prompt, // rewrite and render
    Accept,
    Sample, // and stop
    Other,
}

/// A request as the host knows it.
#[derive(Default)]
pub(super) struct State {
    pub request: Request,
    pub config: String,
    pub call: Call,
    pub history: Vec<Token>,
    pub declined: Vec<String>, // exports
    pub hold: usize,           // tokens that may be taken back
    pub most_hold: usize,      // as the manifest says
    pub notes: Vec<String>,    // of tokens; they are not counted
    pub part: Option<Part>,    // of the answer
    pub elapsed: i32,          // milliseconds
    pub logprob: Option<f32>,  // of the token that is accepted next
    pub hidden_state: Vec<f32>,
    pub logs: Vec<String>,
    pub outputs: Vec<String>,
    pub rewrites_and_filters: bool,
    draws: (usize, u64), // the position of the last draw, and how many there were
    table: Option<&'static dyn Any>,
}

std::thread_local! {
    /// The state of the session whose plugin runs on this thread.
    static STATE: RefCell<State> = RefCell::new(State::default());
}

fn ask<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|s| f(&mut s.borrow_mut()))
}

impl State {
    pub fn new(request: Request, config: String) -> State {
        State { config, history: request.prompt.clone(), request, ..State::default() }
    }

    /// Runs `f` while this answers the imports on this thread.
    pub fn enter<R>(&mut self, call: Call, f: impl FnOnce() -> R) -> R {
        self.call = call;
        table::keep(self.table);
        let before = abi::install(TABLE);
        ask(|s| mem::swap(s, self));
        let answer = f();
        ask(|s| mem::swap(s, self));
        abi::install(before);
        self.table = table::kept();
        answer
    }

    /// Ends the test if `what` contains an id that is no token.
    #[track_caller]
    pub fn must_know(&self, what: &str, tokens: &[Token]) {
        let n = self.request.vocabulary.len();
        for token in tokens {
            assert!((*token as usize) < n, "{} names token {}; the vocabulary has {}", what, token, n);
        }
    }

    /// Whether the plugin gets the messages in the answer, too.
    fn puts_back(&self) -> bool {
        self.rewrites_and_filters && !matches!(self.call, Call::Warm | Call::Plan)
    }

    fn param(&self, kind: i32) -> i64 {
        let r = &self.request;
        match kind {
            abi::PARAM_PROMPT_TOKENS => r.prompt.len() as i64,
            abi::PARAM_MAX_TOKENS => r.max_tokens as i64,
            abi::PARAM_CONTEXT_SIZE => r.context_size as i64,
            abi::PARAM_SEED => r.seed as i64,
            abi::PARAM_TIME => r.time.map_or(-1, |t| t as i64),
            abi::PARAM_CHOICE => r.choice as i64,
            abi::PARAM_CHOICES => r.choices.max(1) as i64,
            _ => -1,
        }
    }

    /// The answer's text, in whole characters.
    fn answer_text(&self) -> String {
        let answer = self.history.get(self.request.prompt.len()..).unwrap_or_default();
        let mut bytes: Vec<u8> = answer.iter().filter_map(|t| self.token(*t as i32)).flat_map(|(piece, _)| piece.clone()).collect();
        if let Some(e) = core::str::from_utf8(&bytes).err().filter(|e| e.error_len().is_none()) {
            bytes.truncate(e.valid_up_to()); // the beginning of a character
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// As for the first plugin of a chain.
    fn random(&mut self) -> i64 {
        let position = self.history.len();
        let before = if self.draws.0 == position { self.draws.1 } else { 0 };
        self.draws = (position, before + 1);
        abi::draw(self.request.seed, 0, position as u64, before) as i64
    }

    fn token(&self, token: i32) -> Option<&(Vec<u8>, i32)> {
        self.request.vocabulary.get(token as usize)
    }

    /// Offsets, then the bytes of all pieces.
    fn pieces(&self) -> Vec<u8> {
        let (mut offsets, mut bytes) = (std::vec![0; 4], Vec::new());
        for (piece, _) in &self.request.vocabulary {
            bytes.extend_from_slice(piece);
            offsets.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        offsets.append(&mut bytes);
        offsets
    }

    /// It does not count values.
    fn output(&mut self, value: String) -> i32 {
        if json::parse(&value).is_err() || matches!(self.call, Call::Warm | Call::Plan | Call::Prompt) {
            return abi::OUTPUT_REFUSED;
        }
        self.outputs.push(value);
        abi::OUTPUT_OK
    }

    /// What the test's template makes of messages; of the request's where there are none.
    fn prompt(&self, messages: &str) -> Option<String> {
        let template = self.request.prompt_text.filter(|_| self.call == Call::Prompt)?;
        template(if messages.is_empty() { &self.request.messages } else { messages }).ok()
    }
}

/// Writes items where they fit, and tells how many there are.
fn give<T: Copy>(items: impl AsRef<[T]>, ptr: *mut u8, limit: i32) -> i32 {
    let items = items.as_ref();
    if items.len() <= limit as usize {
        // Safety: callers of the imports hand over room for so many items.
        unsafe { core::ptr::copy_nonoverlapping(items.as_ptr() as *const u8, ptr, mem::size_of_val(items)) };
    }
    items.len() as i32
}

fn text(ptr: *const u8, len: i32) -> String {
    // Safety: callers of the imports hand over so many bytes.
    String::from_utf8_lossy(unsafe { core::slice::from_raw_parts(ptr, len as usize) }).into_owned()
}

/// Gives the items from an index on, or so many of the last ones where it is negative.
fn give_from<T: Copy>(items: &[T], from: i32, ptr: *mut u8, limit: i32) -> i32 {
    let begin = if from < 0 { items.len().saturating_sub(from.unsigned_abs() as usize) } else { items.len().min(from as usize) };
    give(&items[begin..], ptr, limit)
}

/// Whether an export is that of a call which a plugin may decline.
fn declinable(export: &str) -> bool {
    use crate::request::Call::*;
    [Rewrite, Prepare, Sample, Accept, Draft, Stop, Filter, Rewind, Close].iter().any(|call| call.export() == export)
}

const TABLE: abi::Host = abi::Host {
    config: |p, n| ask(|s| give(if s.call == Call::Warm { "" } else { &s.config }, p, n)),
    messages: |p, n| ask(|s| give(if s.call == Call::Prompt || s.puts_back() { &s.request.messages } else { "" }, p, n)),
    media: |p, n| ask(|s| give(if s.call == Call::Warm || s.request.media.is_empty() { "[]" } else { &s.request.media }, p, n)),
    history: |from, p, n| ask(|s| give_from(&s.history, from, p, n)),
    text: |from, p, n| ask(|s| give_from(s.answer_text().as_bytes(), from, p, n)),
    feature: |p, n| ask(|s| s.request.has(&text(p, n)) as i32),
    param: |kind| ask(|s| s.param(kind)),
    part: || ask(|s| s.part.unwrap_or(Part::Unknown).code()),
    state: |p, n| ask(|s| give(if matches!(s.call, Call::Accept | Call::Sample) { &s.hidden_state[..] } else { &[] }, p, n)),
    prompt: |from, len, p, n| ask(|s| s.prompt(&text(from, len))).map_or(-1, |made| give(made, p, n)),
    logprob: || ask(|s| s.logprob.filter(|_| s.call == Call::Accept).unwrap_or(f32::NAN)),
    request: |p, n| ask(|s| give(s.request.described(s.call != Call::Warm), p, n)),
    elapsed: || ask(|s| if matches!(s.call, Call::Warm | Call::Plan) { -1 } else { s.elapsed }),
    fuel: || abi::LIMIT_HOOK_FUEL, // natively none is used
    random: || ask(State::random),
    vocab_size: || ask(|s| s.request.vocabulary.len() as i32),
    piece: |t, p, n| ask(|s| s.token(t).map_or(-1, |(bytes, _)| give(bytes, p, n))),
    vocab: |p, n| ask(|s| give(s.pieces(), p, n)),
    token_attr: |t| ask(|s| s.token(t).map_or(-1, |(_, attributes)| *attributes)),
    special: |kind| ask(|s| s.request.special.iter().find(|(k, _)| *k == kind).map_or(-1, |(_, t)| *t as i32)),
    tokenize: |from, len, flags, p, n| {
        if flags & !(abi::TOKENIZE_ADD_SPECIAL | abi::TOKENIZE_PARSE_SPECIAL) != 0 || i64::from(len) > abi::LIMIT_TOKENIZE_BYTES {
            return -1;
        }
        let (text, words) = (text(from, len), Vocabulary::read());
        let tokens = words.spell(text.as_bytes()); // in place of a model's tokenizer
        let spelled: usize = tokens.iter().map(|t| words.piece(*t).len()).sum();
        assert_eq!(spelled, text.len(), "the vocabulary has no pieces for all of {:?}", text);
        give(tokens, p, n)
    },
    output: |p, n| ask(|s| s.output(text(p, n))),
    decline: |p, n| {
        let declined = ask(|s| (s.call == Call::Open && declinable(&text(p, n))).then(|| s.declined.push(text(p, n))));
        declined.map_or(abi::DECLINE_REFUSED, |_| abi::DECLINE_OK)
    },
    hold: |n| {
        let held = ask(|s| (s.call == Call::Open && n >= 0 && n as usize <= s.most_hold).then(|| s.hold = n as usize));
        held.map_or(abi::HOLD_REFUSED, |_| abi::HOLD_OK)
    },
    note: |p, n| {
        let takes = |s: &State| matches!(s.call, Call::Accept | Call::Sample | Call::Other) && i64::from(n) <= abi::LIMIT_NOTE_BYTES;
        let noted = ask(|s| takes(s).then(|| s.notes.push(text(p, n))));
        noted.map_or(abi::NOTE_REFUSED, |_| abi::NOTE_OK)
    },
    log: |_, p, n| ask(|s| s.logs.push(text(p, n))),
    ..abi::ABSENT
};

// SPDX-License-Identifier: MIT

//! Answers the calls of a session's plugin. `plugins/abi/testdata/hostcalls.json` has calls that
//! the real host must answer in the same way.

use super::program::{Adopted, Program};
use super::{deed, record, Request};
use crate::{abi, json, table, Part, Token};
use core::any::Any;
use core::cell::RefCell;
use std::string::String;
use std::vec::Vec;

/// A request as the host knows it.
#[derive(Default)]
pub(super) struct State {
    pub request: Request,
    pub recording: bool, // the session is written down
    pub config: String,
    pub begun: bool,     // the request is known: it is not while warm runs
    pub opening: bool,   // buffers may be bound
    pub rendering: bool, // messages are there
    pub accepting: bool,
    pub part: Option<Part>, // of the answer
    pub logprob: Option<f32>, // of the token that is accepted next
    pub hidden_state: Vec<f32>, // of the token at hand; empty: it is not known
    pub stateful: bool,         // a call is made that has it
    prompted: Option<(String, Option<String>)>, // messages that a prompt was made of last, and its text
    pub replaying: bool, // a fresh instance is told the answer again
    pub history: Vec<Token>,
    pub shown: Vec<Shown>, // what stop was shown and still stands
    pub bound: Vec<i32>,       // kinds of buffers
    pub declined: Vec<String>, // exports
    pub notes: Vec<String>, // of all tokens
    pub hold: usize,           // tokens that may be taken back
    pub most_hold: usize,      // as the manifest says
    pub emitted: Vec<u8>,
    pub failed: String,
    pub logs: Vec<String>,
    pub outputs: Vec<String>,
    pub program: Option<Program>, // while it runs
    pub adopted: Vec<Adopted>, // by the last one
    pub computed: usize, // rows that the last one has waited for
    pub asked: Vec<String>, // of the host's grammar engine, as a session's file has it
    draws: (u64, u64),      // the position of the last draw, and how many there were
    table: Option<&'static dyn Any>,
}

/// Text that the plugin's stop rule was shown.
#[derive(Clone)]
pub(super) struct Shown {
    pub token: Token,
    pub text: String,
    pub after: usize, // tokens of the history then
}

std::thread_local! {
    /// The state of the session whose plugin runs on this thread.
    static STATE: RefCell<State> = RefCell::new(State::default());
}

pub(super) fn ask<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|s| f(&mut s.borrow_mut()))
}

/// A state whose turn it is to answer, and what answered before, which comes back also where the
/// plugin panics.
struct Turn<'a> {
    state: &'a mut State,
    host: abi::Host,
    table: Option<&'static dyn Any>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        abi::install(self.host);
        ask(|s| core::mem::swap(s, self.state));
        self.state.table = table::kept();
        table::keep(self.table);
    }
}

impl State {
    /// A request that is not known yet: only its vocabulary is.
    pub fn new(request: Request) -> State {
        State { request, recording: std::env::var_os("PENSTOCK_RECORD").is_some(), draws: (u64::MAX, 0), ..State::default() }
    }

    /// Makes the request known.
    pub fn begin(&mut self, config: &str) {
        self.begun = true;
        self.config = String::from(config);
        self.history = self.request.prompt.clone();
    }

    /// Runs `f` while this answers the imports on this thread.
    pub fn enter<R>(&mut self, f: impl FnOnce() -> R) -> R {
        self.emitted.clear();
        self.failed.clear();
        let turn = Turn { host: abi::install(TABLE), table: table::kept(), state: self };
        table::keep(turn.state.table);
        ask(|s| core::mem::swap(s, turn.state));
        f()
    }

    fn param(&self, kind: i32) -> i64 {
        match kind {
            abi::PARAM_PROMPT_TOKENS => self.request.prompt.len() as i64,
            abi::PARAM_MAX_TOKENS => self.request.max_tokens as i64,
            abi::PARAM_CONTEXT_SIZE => self.request.context_size as i64,
            abi::PARAM_SEED => self.request.seed as i64,
            abi::PARAM_TIME => self.request.time.map_or(-1, |t| t as i64),
            abi::PARAM_CHOICE => self.request.choice as i64,
            abi::PARAM_CHOICES => self.request.choices.max(1) as i64,
            _ => -1,
        }
    }

    /// What `request` gives.
    fn described(&self) -> String {
        let object = |known: bool, text: &str| String::from(if known && !text.is_empty() { text } else { "{}" });
        let (model, sampling) = (object(true, &self.request.model), object(self.begun, &self.request.sampling));
        std::format!(r#"{{"model":{},"sampling":{}}}"#, model, sampling)
    }

    /// It does not count values.
    fn output(&mut self, value: String) -> i32 {
        if json::parse(&value).is_err() || !self.begun || self.rendering {
            return abi::OUTPUT_REFUSED;
        }
        if !self.replaying {
            self.outputs.push(value);
        }
        abi::OUTPUT_OK
    }

    /// As for the first plugin of a chain. A program draws at a position of its own after each
    /// wait.
    fn random(&mut self) -> i64 {
        let position = match &self.program {
            Some(program) if program.waits > 0 => (1 << 32) + program.waits,
            _ => self.history.len() as u64,
        };
        let before = if self.draws.0 == position { self.draws.1 } else { 0 };
        self.draws = (position, before + 1);
        abi::draw(self.request.seed, 0, position, before) as i64
    }

    fn token(&self, token: i32) -> Option<&(Vec<u8>, i32)> {
        self.request.vocabulary.get(token as usize)
    }

    pub fn has(&self, feature: &str) -> bool {
        abi::FEATURES.contains(&feature) && !self.request.lacking.iter().any(|f| f == feature)
    }

    pub fn vocab_size(&self) -> usize {
        self.request.vocabulary.len()
    }

    pub fn prompt_len(&self) -> usize {
        self.request.prompt.len()
    }

    /// Ends the test if `what` contains an id that is no token.
    #[track_caller]
    pub fn must_know(&self, what: &str, tokens: &[Token]) {
        let n = self.vocab_size();
        for token in tokens {
            assert!((*token as usize) < n, "{} names token {}; the vocabulary has {}", what, token, n);
        }
    }

    /// What `vocab` gives: offsets, then the bytes of all pieces.
    fn pieces(&self) -> Vec<u8> {
        let mut all = std::vec![0; 4];
        let mut bytes = Vec::new();
        for (piece, _) in &self.request.vocabulary {
            bytes.extend_from_slice(piece);
            all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        all.append(&mut bytes);
        all
    }

    /// The answer's text, in whole characters.
    fn answer_text(&self) -> String {
        let answer = self.history.get(self.prompt_len()..).unwrap_or_default();
        let mut bytes: Vec<u8> = answer.iter().filter_map(|t| self.token(*t as i32)).flat_map(|(piece, _)| piece.clone()).collect();
        let last = bytes.iter().rposition(|b| b & 0xc0 != 0x80).unwrap_or(0);
        if matches!(core::str::from_utf8(&bytes[last..]), Err(e) if e.error_len().is_none()) {
            bytes.truncate(last); // the beginning of a character
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// In place of a model's tokenizer: the longest piece that fits, again and again. None where
    /// none does.
    fn tokenize(&self, mut text: &[u8]) -> Option<Vec<Token>> {
        let mut tokens = Vec::new();
        while !text.is_empty() {
            let pieces = self.request.vocabulary.iter().enumerate().map(|(t, (piece, _))| (t, piece));
            let fits = pieces.filter(|(_, piece)| !piece.is_empty() && text.starts_with(piece));
            let (token, piece) = fits.reduce(|best, t| if t.1.len() > best.1.len() { t } else { best })?;
            tokens.push(token as Token);
            text = &text[piece.len()..];
        }
        Some(tokens)
    }

    fn part(&mut self) -> i32 {
        let part = self.part.unwrap_or(Part::Unknown).code();
        self.asked.push(std::format!(r#"{{"import":"part","count":{}}}"#, part));
        part
    }

    /// Writes the hidden state where it fits, and notes what was given.
    unsafe fn state(&mut self, ptr: *mut u8, limit: i32) -> i32 {
        let state: &[f32] = if self.stateful && !self.replaying { &self.hidden_state } else { &[] };
        let n = give(state, ptr, limit);
        let given = if n <= limit { std::format!(r#","state":{}"#, record::logits(state)) } else { String::new() };
        self.asked.push(std::format!(r#"{{"import":"state","count":{}{}}}"#, n, given));
        n
    }

    /// What the template makes of messages; those that were given where there are no others.
    fn prompt(&mut self, messages: String) -> Option<String> {
        let template = self.request.prompt_text.clone().filter(|_| self.rendering)?;
        let of = if messages.is_empty() { self.request.messages.clone() } else { messages };
        if self.prompted.as_ref().map_or(true, |last| last.0 != of) {
            let made = (template.0)(&of);
            self.asked.push(match &made {
                Ok(text) => std::format!(r#"{{"import":"prompt","text":{}}}"#, json::quote(text)),
                Err(reason) => std::format!(r#"{{"import":"prompt","error":{}}}"#, json::quote(reason)),
            });
            self.prompted = Some((of, made.ok()));
        }
        self.prompted.as_ref().and_then(|last| last.1.clone())
    }

    fn grammar_reason(&self) -> &'static str {
        if self.asked.iter().any(|asked| asked.contains("grammar_open")) {
            NO_GRAMMARS
        } else {
            ""
        }
    }

    fn decline(&mut self, export: String) -> i32 {
        const NEEDED: [&str; 6] =
            ["penstock_abi_v1", "penstock_describe", "penstock_warm", "penstock_open", "penstock_template", "penstock_run"];
        if !self.opening || NEEDED.contains(&&*export) || !export.starts_with("penstock_") || !abi::FEATURES.contains(&&*export) {
            return abi::DECLINE_REFUSED;
        }
        if !self.declined.contains(&export) {
            self.declined.push(export);
        }
        abi::DECLINE_OK
    }

    fn note(&mut self, text: String) -> i32 {
        if self.opening || text.len() as i64 > abi::LIMIT_NOTE_BYTES {
            return abi::NOTE_REFUSED;
        }
        self.notes.push(text);
        abi::NOTE_OK
    }

    fn hold(&mut self, n: i32) -> i32 {
        if !self.opening || n < 0 || n as usize > self.most_hold {
            return abi::HOLD_REFUSED;
        }
        self.hold = n as usize;
        abi::HOLD_OK
    }

    /// As a host without a grammar engine.
    fn grammar_open(&mut self, kind: i32, text: &str) -> i32 {
        let error = NO_GRAMMARS;
        let text = json::quote(text);
        self.asked.push(std::format!(r#"{{"import":"grammar_open","kind":{},"text":{},"error":"{}"}}"#, kind, text, error));
        -1
    }

    /// It does not look at sizes: the SDK makes the buffers.
    fn bind(&mut self, kind: i32, at: usize) -> i32 {
        let known = (abi::BUFFER_CANDIDATES..=abi::BUFFER_TEXT).contains(&kind);
        if !self.opening || !known || at % 4 != 0 || self.bound.contains(&kind) {
            return abi::BIND_REFUSED;
        }
        self.bound.push(kind);
        abi::BIND_OK
    }
}

/// Why no grammar is opened here.
const NO_GRAMMARS: &str = "this host has no grammar engine";

pub(super) unsafe fn give<T: Copy>(items: &[T], ptr: *mut u8, limit: i32) -> i32 {
    if items.len() <= limit as usize {
        core::ptr::copy_nonoverlapping(items.as_ptr() as *const u8, ptr, core::mem::size_of_val(items));
    }
    items.len() as i32
}

/// Where `history` begins: an index, or a number counted back from the end.
pub(super) fn beginning(from: i32, len: usize) -> usize {
    if from < 0 {
        len.saturating_sub(from.unsigned_abs() as usize)
    } else {
        len.min(from as usize)
    }
}

unsafe fn taken(ptr: *const u8, len: i32) -> Vec<u8> {
    core::slice::from_raw_parts(ptr, len as usize).to_vec()
}

/// Numbers of 32 bits, or pairs of them.
pub(super) unsafe fn numbers<T: Copy>(ptr: *const u8, n: i32) -> Vec<T> {
    core::slice::from_raw_parts(ptr as *const T, n as usize).to_vec()
}

pub(super) unsafe fn text(ptr: *const u8, len: i32) -> String {
    String::from_utf8_lossy(&taken(ptr, len)).into_owned()
}

fn when(known: bool, text: &str) -> &[u8] {
    if known {
        text.as_bytes()
    } else {
        b""
    }
}

const FLAGS: i32 = abi::TOKENIZE_ADD_SPECIAL | abi::TOKENIZE_PARSE_SPECIAL;

/// Safety: callers of the imports hand over what they may.
const TABLE: abi::Host = abi::Host {
    config: |p, n| ask(|s| unsafe { give(when(s.begun, &s.config), p, n) }),
    messages: |p, n| ask(|s| unsafe { give(when(s.rendering, &s.request.messages), p, n) }),
    media: |p, n| ask(|s| unsafe { give(if s.begun && !s.request.media.is_empty() { s.request.media.as_bytes() } else { b"[]" }, p, n) }),
    history: |from, p, n| ask(|s| unsafe { give(&s.history[beginning(from, s.history.len())..], p, n) }),
    text: |from, p, n| {
        ask(|s| {
            let text = s.answer_text();
            unsafe { give(&text.as_bytes()[beginning(from, text.len())..], p, n) }
        })
    },
    feature: |p, n| ask(|s| s.has(&unsafe { text(p, n) }) as i32),
    param: |kind| ask(|s| s.param(kind)),
    part: || ask(State::part),
    state: |p, n| ask(|s| unsafe { s.state(p, n) }),
    prompt: |from, len, p, n| {
        let messages = unsafe { text(from, len) };
        ask(|s| s.prompt(messages)).map_or(-1, |made| unsafe { give(made.as_bytes(), p, n) })
    },
    logprob: || ask(|s| s.logprob.filter(|_| s.accepting).unwrap_or(f32::NAN)),
    request: |p, n| ask(|s| unsafe { give(s.described().as_bytes(), p, n) }),
    random: || ask(State::random),
    vocab_size: || ask(|s| s.request.vocabulary.len() as i32),
    piece: |t, p, n| ask(|s| s.token(t).map_or(-1, |(b, _)| unsafe { give(b, p, n) })),
    vocab: |p, n| ask(|s| unsafe { give(&s.pieces(), p, n) }),
    token_attr: |t| ask(|s| s.token(t).map_or(-1, |(_, a)| *a)),
    special: |kind| ask(|s| s.request.special.iter().find(|(k, _)| *k == kind).map_or(-1, |(_, t)| *t as i32)),
    tokenize: |from, len, flags, p, n| {
        if flags & !FLAGS != 0 || i64::from(len) > abi::LIMIT_TOKENIZE_BYTES {
            return -1;
        }
        ask(|s| s.tokenize(&unsafe { taken(from, len) }).map_or(-1, |tokens| unsafe { give(&tokens, p, n) }))
    },
    output: |p, n| ask(|s| s.output(unsafe { text(p, n) })),
    decline: |p, n| ask(|s| s.decline(unsafe { text(p, n) })),
    note: |p, n| ask(|s| s.note(unsafe { text(p, n) })),
    hold: |n| ask(|s| s.hold(n)),
    bind: |kind, p, _| ask(|s| s.bind(kind, p as usize)),
    emit: |p, n| ask(|s| s.emitted.extend(unsafe { taken(p, n) })),
    fail: |p, n| ask(|s| s.failed = unsafe { text(p, n) }),
    log: |_, p, n| ask(|s| s.logs.push(unsafe { text(p, n) })),
    grammar_open: |kind, p, n| ask(|s| s.grammar_open(kind, &unsafe { text(p, n) })),
    grammar_mask: |_| -1,
    grammar_accept: |_, _| -1,
    grammar_mask_within: |_, _| abi::WITHIN_REFUSED,
    grammar_rest: |_| abi::REST_UNKNOWN,
    grammar_reason: |p, n| ask(|s| unsafe { give(s.grammar_reason().as_bytes(), p, n) }),
    ..deed::TABLE // of programs
};

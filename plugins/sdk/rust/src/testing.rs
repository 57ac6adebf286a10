// SPDX-License-Identifier: MIT

//! Stands in for the host in native tests: it answers the imports on the thread that installs it.
//!
//! It gives the answers that the host gives: `plugins/abi/testdata/hostcalls.json` has calls that both are asked.

use crate::{abi, Token};
use core::cell::{Cell, RefCell};
use std::string::String;
use std::vec::Vec;

/// What the stand-in knows and what it was told. Each test's thread has its own.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Answers `config`; empty: `{}`.
    pub config: String,
    /// Answers `messages`.
    pub messages: String,
    /// Answers `history`.
    pub history: Vec<Token>,
    /// The vocabulary: bytes and attribute bits of each token.
    pub vocabulary: Vec<(Vec<u8>, i32)>,
    /// Answers `special`: kinds with their tokens.
    pub special: Vec<(i32, Token)>,
    /// Tokens of the prompt, as `param` answers; so do the following.
    pub prompt_tokens: usize,
    /// Tokens to generate at most.
    pub max_tokens: usize,
    /// Tokens that fit the slot.
    pub context_size: usize,
    /// The seed of the choice, which `random` draws with too.
    pub seed: u64,
    /// What `emit` was given.
    pub emitted: Vec<u8>,
    /// The last text of `fail`.
    pub failed: String,
    /// What `log` was given.
    pub logged: Vec<String>,
    /// Kinds and addresses of bound buffers, with their lengths in bytes.
    pub bound: Vec<(i32, usize, usize)>,
}

std::thread_local! {
    static HOST: RefCell<Host> = RefCell::new(Host::default());
    /// The position of the last draw, and how many there were.
    static DRAWS: Cell<(usize, u64)> = Cell::new((0, 0));
}

fn ask<R>(f: impl FnOnce(&mut Host) -> R) -> R {
    HOST.with(|h| f(&mut h.borrow_mut()))
}

impl Host {
    /// Makes this host answer on this thread.
    pub fn install(self) {
        ask(|h| *h = self);
        DRAWS.with(|d| d.set((0, 0)));
        abi::install(TABLE);
    }

    /// The installed host, with what it was told.
    pub fn current() -> Host {
        ask(|h| h.clone())
    }

    /// Changes the installed host.
    pub fn change(f: impl FnOnce(&mut Host)) {
        ask(f)
    }

    /// Adds tokens that are plain text.
    pub fn with_words(mut self, words: &[&str]) -> Host {
        self.vocabulary.extend(words.iter().map(|w| (w.as_bytes().to_vec(), 0)));
        self
    }

    /// Adds a token that ends generation.
    pub fn with_end(mut self) -> Host {
        self.vocabulary.push((Vec::new(), abi::ATTR_CONTROL | abi::ATTR_END));
        self
    }

    fn param(&self, kind: i32) -> i64 {
        match kind {
            abi::PARAM_PROMPT_TOKENS => self.prompt_tokens as i64,
            abi::PARAM_MAX_TOKENS => self.max_tokens as i64,
            abi::PARAM_CONTEXT_SIZE => self.context_size as i64,
            abi::PARAM_SEED => self.seed as i64,
            _ => -1,
        }
    }

    /// As for the first plugin of a chain.
    fn random(&self) -> i64 {
        let position = self.history.len();
        let (last, draws) = DRAWS.with(|d| d.get());
        let before = if position == last { draws } else { 0 };
        DRAWS.with(|d| d.set((position, before + 1)));
        abi::draw(self.seed, 0, position as u64, before) as i64
    }

    /// What `vocab` gives: offsets, then the bytes of all pieces.
    fn pieces(&self) -> Vec<u8> {
        let mut all = std::vec![0; 4];
        let mut bytes = Vec::new();
        for (piece, _) in &self.vocabulary {
            bytes.extend_from_slice(piece);
            all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        all.append(&mut bytes);
        all
    }

    /// In place of a model's tokenizer: the longest piece that fits, again and again. None where none does.
    fn tokenize(&self, mut text: &[u8]) -> Option<Vec<Token>> {
        let mut tokens = Vec::new();
        while !text.is_empty() {
            let fits = self.vocabulary.iter().enumerate().filter(|(_, (piece, _))| !piece.is_empty() && text.starts_with(piece));
            let (token, (piece, _)) = fits.reduce(|best, t| if t.1 .0.len() > best.1 .0.len() { t } else { best })?;
            tokens.push(token as Token);
            text = &text[piece.len()..];
        }
        Some(tokens)
    }

    /// It does not look at sizes: the SDK makes the buffers.
    fn bind(&mut self, kind: i32, at: usize, len: usize) -> i32 {
        let known = (abi::BUFFER_CANDIDATES..=abi::BUFFER_TEXT).contains(&kind);
        if !known || at % 4 != 0 || self.bound.iter().any(|(k, _, _)| *k == kind) {
            return abi::BIND_REFUSED;
        }
        self.bound.push((kind, at, len));
        abi::BIND_OK
    }
}

unsafe fn give<T: Copy>(items: &[T], ptr: *mut u8, limit: i32) -> i32 {
    if items.len() <= limit as usize {
        core::ptr::copy_nonoverlapping(items.as_ptr() as *const u8, ptr, core::mem::size_of_val(items));
    }
    items.len() as i32
}

/// Where `history` begins: an index, or a number counted back from the end.
fn beginning(from: i32, len: usize) -> usize {
    if from < 0 {
        len.saturating_sub(from.unsigned_abs() as usize)
    } else {
        len.min(from as usize)
    }
}

unsafe fn taken(ptr: *const u8, len: i32) -> Vec<u8> {
    core::slice::from_raw_parts(ptr, len as usize).to_vec()
}

unsafe fn text(ptr: *const u8, len: i32) -> String {
    String::from_utf8_lossy(&taken(ptr, len)).into_owned()
}

const FLAGS: i32 = abi::TOKENIZE_ADD_SPECIAL | abi::TOKENIZE_PARSE_SPECIAL;

/// Safety: callers of the imports hand over what they may.
const TABLE: abi::Host = abi::Host {
    config: |p, n| ask(|h| unsafe { give(if h.config.is_empty() { b"{}" } else { h.config.as_bytes() }, p, n) }),
    messages: |p, n| ask(|h| unsafe { give(h.messages.as_bytes(), p, n) }),
    history: |from, p, n| ask(|h| unsafe { give(&h.history[beginning(from, h.history.len())..], p, n) }),
    feature: |p, n| abi::FEATURES.contains(&unsafe { text(p, n) }.as_str()) as i32,
    param: |kind| ask(|h| h.param(kind)),
    random: || ask(|h| h.random()),
    vocab_size: || ask(|h| h.vocabulary.len() as i32),
    piece: |t, p, n| ask(|h| h.vocabulary.get(t as usize).map_or(-1, |(b, _)| unsafe { give(b, p, n) })),
    vocab: |p, n| ask(|h| unsafe { give(&h.pieces(), p, n) }),
    token_attr: |t| ask(|h| h.vocabulary.get(t as usize).map_or(-1, |(_, a)| *a)),
    special: |kind| ask(|h| h.special.iter().find(|(k, _)| *k == kind).map_or(-1, |(_, t)| *t as i32)),
    tokenize: |from, len, flags, p, n| {
        if flags & !FLAGS != 0 || i64::from(len) > abi::LIMIT_TOKENIZE_BYTES {
            return -1;
        }
        ask(|h| h.tokenize(&unsafe { taken(from, len) }).map_or(-1, |tokens| unsafe { give(&tokens, p, n) }))
    },
    bind: |kind, p, n| ask(|h| h.bind(kind, p as usize, n as usize)),
    emit: |p, n| ask(|h| h.emitted.extend(unsafe { taken(p, n) })),
    fail: |p, n| ask(|h| h.failed = unsafe { text(p, n) }),
    log: |_, p, n| ask(|h| h.logged.push(unsafe { text(p, n) })),
    grammar_open: |_, _, _| -1, // as a host without a grammar engine
    grammar_mask: |_| -1,
    grammar_accept: |_, _| -1,
};

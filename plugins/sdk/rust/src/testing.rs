// SPDX-License-Identifier: MIT

//! A host for native tests: it answers the imports on the thread that installs it.

use crate::{abi, Token};
use core::cell::RefCell;
use std::string::String;
use std::vec::Vec;

/// What the stand-in knows and what it was told. Each test's thread has its own.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Answers `config`.
    pub config: String,
    /// Answers `messages`.
    pub messages: String,
    /// Answers `history`.
    pub history: Vec<Token>,
    /// What `feature` affirms.
    pub features: Vec<String>,
    /// The vocabulary: bytes and attribute bits of each token.
    pub vocabulary: Vec<(Vec<u8>, i32)>,
    /// Answers `param`, by kind.
    pub params: [i64; 4],
    /// State of `random`.
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
}

fn ask<R>(f: impl FnOnce(&mut Host) -> R) -> R {
    HOST.with(|h| f(&mut h.borrow_mut()))
}

impl Host {
    /// Makes this host answer on this thread.
    pub fn install(self) {
        ask(|h| *h = self);
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

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn laid_out(vocabulary: &[(Vec<u8>, i32)]) -> Vec<u8> {
    let mut all = std::vec![0; 4];
    let mut bytes = Vec::new();
    for (piece, _) in vocabulary {
        bytes.extend_from_slice(piece);
        all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    }
    all.append(&mut bytes);
    all
}

/// Splitmix64: as random as a test needs.
fn draw(h: &mut Host) -> i64 {
    h.seed = h.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (h.seed ^ h.seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as i64
}

const TABLE: abi::Host = abi::Host {
    config: |p, n| ask(|h| unsafe { give(h.config.as_bytes(), p, n) }),
    messages: |p, n| ask(|h| unsafe { give(h.messages.as_bytes(), p, n) }),
    history: |from, p, n| ask(|h| unsafe { give(&h.history[beginning(from, h.history.len())..], p, n) }),
    feature: |p, n| ask(|h| h.features.contains(&lossy(unsafe { taken(p, n) })) as i32),
    param: |kind| ask(|h| h.params.get(kind as usize).copied().unwrap_or(-1)),
    random: || ask(draw),
    vocab_size: || ask(|h| h.vocabulary.len() as i32),
    piece: |t, p, n| ask(|h| h.vocabulary.get(t as usize).map_or(-1, |(b, _)| unsafe { give(b, p, n) })),
    vocab: |p, n| ask(|h| unsafe { give(&laid_out(&h.vocabulary), p, n) }),
    token_attr: |t| ask(|h| h.vocabulary.get(t as usize).map_or(-1, |(_, a)| *a)),
    bind: |kind, p, n| {
        ask(|h| h.bound.push((kind, p as usize, n as usize)));
        abi::BIND_OK
    },
    emit: |p, n| ask(|h| h.emitted.extend(unsafe { taken(p, n) })),
    fail: |p, n| ask(|h| h.failed = lossy(unsafe { taken(p, n) })),
    log: |_, p, n| ask(|h| h.logged.push(lossy(unsafe { taken(p, n) }))),
    special: |_| -1,
    ..abi::ABSENT
};

// SPDX-License-Identifier: MIT

use crate::glue::Methods;
use crate::{abi, host, Candidates, Manifest, Row, View};
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes of text that a stop rule or a filter sees at a time; longer text is passed in several
/// calls.
const TEXT: usize = 4096;

/// The buffers that a plugin's methods need, in words of 4 bytes; those that no method needs are
/// empty.
pub(crate) struct Buffers {
    pub candidates: Vec<u32>,
    pub logits: Vec<u32>,
    pub mask: Vec<u32>,
    pub bias: Vec<u32>,
    pub splice: Vec<u32>,
    pub text: Vec<u32>,
}

impl Buffers {
    pub const fn none() -> Buffers {
        Buffers { candidates: Vec::new(), logits: Vec::new(), mask: Vec::new(), bias: Vec::new(), splice: Vec::new(), text: Vec::new() }
    }

    /// Allocates the buffers and passes them to the host, which accepts them only while a request
    /// is opened.
    pub fn bound(methods: &Methods, manifest: &Manifest) -> Result<Buffers, String> {
        let n = if methods.sample_row || methods.prepare { host::vocab_size() } else { 0 };
        let shown = methods.sample && manifest.view == View::ByMethod;
        let words = |needed: bool, words: usize| if needed { words } else { 0 };
        Ok(Buffers {
            candidates: bound(abi::BUFFER_CANDIDATES, words(shown, 2 * manifest.candidates as usize))?,
            logits: bound(abi::BUFFER_LOGITS, words(methods.sample_row, n))?,
            mask: bound(abi::BUFFER_MASK, words(methods.prepare, (n + 31) / 32))?,
            bias: bound(abi::BUFFER_BIAS, words(methods.prepare || shown, 1 + 2 * manifest.biases as usize))?,
            splice: bound(abi::BUFFER_SPLICE, words(methods.prepare || methods.accept || methods.draft, 2 + manifest.splice as usize))?,
            text: bound(abi::BUFFER_TEXT, words(methods.stop || methods.filter, TEXT / 4))?,
        })
    }

    pub fn candidates(&mut self, n: usize) -> Candidates<'_> {
        let cap = self.candidates.len() / 2;
        let (ids, logits) = self.candidates.split_at_mut(cap);
        Candidates::biasing(&mut ids[..n], &mut floats(logits)[..n], &mut self.bias)
    }

    pub fn row(&mut self, n: usize) -> Row<'_> {
        Row::new(&mut floats(&mut self.logits)[..n])
    }

    /// The first `len` bytes of the text.
    pub fn text(&self, len: usize) -> &[u8] {
        // Safety: the buffer has so many bytes, and any are a u8.
        let bytes = unsafe { core::slice::from_raw_parts(self.text.as_ptr() as *const u8, 4 * self.text.len()) };
        &bytes[..len]
    }

    /// Writes a splice. Panics if the tokens do not fit: set a larger `splice` in the manifest.
    pub fn set_splice(splice: &mut [u32], backtrack: u32, tokens: &[u32]) {
        let room = splice.len() - 2;
        assert!(tokens.len() <= room, "{} tokens at once; the manifest's splice has room for {}", tokens.len(), room);
        splice[0] = backtrack;
        splice[1] = tokens.len() as u32;
        splice[2..2 + tokens.len()].copy_from_slice(tokens);
    }
}

/// The words as the numbers that they hold.
fn floats(words: &mut [u32]) -> &mut [f32] {
    // Safety: the size and the alignment are the same, and any 32 bits are an f32.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr() as *mut f32, words.len()) }
}

/// A buffer of so many words that the host has; none where there are no words.
#[inline(never)]
fn bound(kind: i32, words: usize) -> Result<Vec<u32>, String> {
    let buffer = alloc::vec![0u32; words];
    // Safety: the buffer is 4-byte aligned, and stays where it is until the instance ends.
    if words == 0 || unsafe { abi::bind(kind, buffer.as_ptr() as *const u8, 4 * words as i32) } == abi::BIND_OK {
        return Ok(buffer);
    }
    Err(alloc::format!("the host refuses buffer {} of {} bytes", kind, 4 * words))
}

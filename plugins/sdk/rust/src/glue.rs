// SPDX-License-Identifier: MIT

//! Turns calls of the ABI's exports into calls of the traits. [`crate::export!`] writes the exports.

use crate::cell::with;
use crate::*;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// The buffers that `open` binds, and the sizes it binds them with. Words are 4 bytes; unused ones are empty.
#[derive(Default)]
pub struct Buffers {
    candidates: Vec<u32>,
    logits: Vec<f32>,
    mask: Vec<u32>,
    bias: Vec<u32>,
    splice: Vec<u32>,
    text: Vec<u32>,
}

/// Which buffers a plugin needs, in units of their entries.
#[derive(Clone, Copy, Default)]
pub struct Needs {
    pub candidates: usize,
    pub logits: bool,
    pub mask: bool,
    pub biases: usize,
    pub splice: usize,
    pub text: usize,
}

impl Needs {
    /// Both together.
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            candidates: self.candidates.max(other.candidates),
            logits: self.logits || other.logits,
            mask: self.mask || other.mask,
            biases: self.biases.max(other.biases),
            splice: self.splice.max(other.splice),
            text: self.text.max(other.text),
        }
    }
}

impl Buffers {
    fn bound(needs: Needs) -> Result<Buffers, String> {
        let n = host::vocab_size();
        let words = |used: bool, words: usize| alloc::vec![0u32; if used { words } else { 0 }];
        let b = Buffers {
            candidates: words(true, 2 * needs.candidates),
            logits: alloc::vec![0.0; if needs.logits { n } else { 0 }],
            mask: words(needs.mask, (n + 31) / 32),
            bias: words(needs.biases > 0, 1 + 2 * needs.biases),
            splice: words(needs.splice > 0, 2 + needs.splice),
            text: words(true, (needs.text + 3) / 4),
        };
        bind(abi::BUFFER_CANDIDATES, &b.candidates)?;
        bind(abi::BUFFER_LOGITS, &b.logits)?;
        bind(abi::BUFFER_MASK, &b.mask)?;
        bind(abi::BUFFER_BIAS, &b.bias)?;
        bind(abi::BUFFER_SPLICE, &b.splice)?;
        bind(abi::BUFFER_TEXT, &b.text)?;
        Ok(b)
    }
}

fn bind<T>(kind: i32, buffer: &[T]) -> Result<(), String> {
    // Safety: the buffer is 4-byte aligned, and lives in the module's one place until the instance ends.
    if buffer.is_empty() || unsafe { abi::bind(kind, buffer.as_ptr() as *const u8, 4 * buffer.len() as i32) } == abi::BIND_OK {
        return Ok(());
    }
    Err(alloc::format!("the host refuses buffer {} of {} bytes", kind, 4 * buffer.len()))
}

fn answer(result: Result<(), String>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(reason) => {
            host::fail(&reason);
            1
        }
    }
}

/// Runs `f` on the plugin and its buffers. They are taken out of their place meanwhile, so that a plugin may call [`table`].
fn serve<P: Plugin, R>(f: impl FnOnce(&mut P, &mut Buffers) -> R) -> R {
    let (mut plugin, mut buffers) = with(|k| (k.plugin.take(), core::mem::take(&mut k.buffers)));
    let p = plugin.as_mut().and_then(|p| p.downcast_mut::<P>()).expect("no request is open");
    let result = f(p, &mut buffers);
    with(|k| {
        k.plugin = plugin;
        k.buffers = buffers;
    });
    result
}

pub fn describe<P: Plugin>(view: &str) {
    host::emit(&P::MANIFEST.json(view));
}

pub fn warm<P: Warm>() -> i32 {
    answer(P::warm(&Vocabulary::read()).map(|table| {
        let table: &'static P::Table = Box::leak(Box::new(table)); // as long as the module
        with(|k| k.table = Some(table))
    }))
}

pub fn open<P: Plugin>(needs: Needs) -> i32 {
    answer(Request::read().and_then(|request| {
        let plugin: Box<dyn core::any::Any> = Box::new(P::open(&request)?);
        let buffers = Buffers::bound(needs)?;
        with(|k| {
            k.plugin = Some(plugin);
            k.buffers = buffers;
        });
        Ok(())
    }))
}

pub fn sample<P: Sampler>(n: i32) -> i32 {
    serve(|p: &mut P, b| {
        let cap = b.candidates.len() / 2;
        let (ids, logits) = b.candidates.split_at_mut(cap);
        // Safety: any 32 bits are an f32.
        let logits = unsafe { core::slice::from_raw_parts_mut(logits.as_mut_ptr() as *mut f32, cap) };
        let n = n as usize;
        p.sample(&mut Candidates::new(&mut ids[..n], &mut logits[..n])).code()
    })
}

pub fn sample_row<P: RowSampler>(n: i32) -> i32 {
    serve(|p: &mut P, b| p.sample(&mut b.logits[..n as usize]).code())
}

pub fn prepare<P: Prepare>() -> i32 {
    serve(|p: &mut P, b| {
        let mut next = Next { mask: &mut b.mask, bias: &mut b.bias, splice: &mut b.splice, filled: 0 };
        p.prepare(&mut next);
        next.filled
    })
}

pub fn accept<P: Accept>(token: i32) -> i32 {
    serve(|p: &mut P, b| match p.accept(token as Token) {
        Accepted::Continue => abi::ACCEPT_CONTINUE,
        Accepted::Stop => abi::ACCEPT_STOP,
        Accepted::Splice { backtrack, tokens } => {
            b.splice[0] = backtrack;
            b.splice[1] = tokens.len() as u32;
            b.splice[2..2 + tokens.len()].copy_from_slice(&tokens);
            abi::ACCEPT_SPLICE
        }
    })
}

pub fn rewind<P: Rewind>(len: i32) -> i32 {
    serve(|p: &mut P, _| p.rewind(len as usize));
    0
}

pub fn stop<P: Stop>(token: i32, len: i32) -> i32 {
    serve(|p: &mut P, b| {
        let room = 4 * b.text.len();
        // Safety: the buffer has `room` bytes, and the length is checked against it.
        let bytes = unsafe { core::slice::from_raw_parts(b.text.as_ptr() as *const u8, room) };
        let text = core::str::from_utf8(&bytes[..len as usize]).expect("the host hands out whole characters");
        p.stop(token as Token, text).code()
    })
}

pub fn template<P: Template>() -> i32 {
    answer(serve(|p: &mut P, _| {
        let messages = json::parse(&host::messages()).map_err(|e| alloc::format!("messages: {}", e))?;
        host::emit(&p.render(&Message::list(&messages)?)?);
        Ok(())
    }))
}

// SPDX-License-Identifier: MIT

//! Turns calls of the ABI's exports into calls of a plugin's methods. The attribute
//! [`crate::export`] writes the exports.

use crate::buffers::Buffers;
use crate::forced::Forced;
use crate::json::Value;
use crate::*;
use alloc::boxed::Box;
use alloc::string::{String, ToString};

/// Which methods a plugin has.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Methods {
    pub warm: bool,
    pub rewrite: bool,
    pub render: bool,
    pub draft: bool,
    pub prepare: bool,
    pub sample: bool,
    pub sample_row: bool,
    pub accept: bool,
    pub stop: bool,
    pub rewind: bool,
    pub run: bool,
    pub close: bool,
}

impl Methods {
    /// A plugin with `open` alone.
    pub const NONE: Methods = Methods {
        warm: false,
        rewrite: false,
        render: false,
        draft: false,
        prepare: false,
        sample: false,
        sample_row: false,
        accept: false,
        stop: false,
        rewind: false,
        run: false,
        close: false,
    };
}

/// A plugin whose exports are written.
pub trait Exported: Plugin {
    /// The methods that have an export.
    const METHODS: Methods;
}

/// A plugin that serves one request, with its buffers.
pub struct Instance<P> {
    pub(crate) plugin: Option<P>,
    pub(crate) buffers: Buffers,
    forced: Forced,
    keeps: Option<bool>, // whether the host takes Choice::Keep; asked when that comes up
}

/// A line of the log.
pub fn line(file: &str, line: u32, text: core::fmt::Arguments) -> String {
    alloc::format!("{}:{}: {}", file, line, text)
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

impl<P: Exported> Instance<P> {
    const DEFAULTS: bool = defaults::may_be_in(P::MANIFEST.config_schema);

    /// No request is open.
    pub const fn new() -> Instance<P> {
        Instance { plugin: None, buffers: Buffers::none(), forced: Forced::none(), keeps: None }
    }

    fn plugin(&mut self) -> &mut P {
        self.plugin.as_mut().expect("no request is open")
    }

    pub fn describe(&mut self) {
        host::emit(&P::MANIFEST.json(&P::METHODS));
    }

    pub fn warm(&mut self) -> i32 {
        answer(P::warm(&Vocabulary::read()).map(|built| table::keep(Some(Box::leak(built)))))
    }

    pub fn open(&mut self) -> i32 {
        answer(Request::read().and_then(|mut request| {
            if Self::DEFAULTS && !host::feature(abi::FEATURE_CONFIG_DEFAULTS) {
                defaults::fill(P::MANIFEST.config_schema, &mut request.config)?;
            }
            self.plugin = Some(P::open(&request)?);
            self.buffers = Buffers::bound(&P::METHODS, &P::MANIFEST)?;
            Ok(())
        }))
    }

    pub fn sample(&mut self, n: i32) -> i32 {
        let plugin = self.plugin.as_mut().expect("no request is open");
        let mut candidates = self.buffers.candidates(n as usize);
        match plugin.sample(&mut candidates) {
            Choice::Edited => abi::SAMPLE_EDITED,
            Choice::Take(token) => token as i32,
            Choice::Biased if host::feature(abi::FEATURE_SAMPLE_BIAS) => abi::SAMPLE_BIASED,
            Choice::Biased => {
                candidates.apply_biases();
                abi::SAMPLE_EDITED
            }
            Choice::Keep(k) => {
                let k = k.max(1);
                if *self.keeps.get_or_insert_with(|| host::feature(abi::FEATURE_SAMPLE_KEEP)) {
                    return abi::SAMPLE_EDITED - k as i32;
                }
                candidates.logits_mut()[k..].fill(f32::NEG_INFINITY);
                abi::SAMPLE_EDITED
            }
        }
    }

    pub fn sample_row(&mut self, n: i32) -> i32 {
        let plugin = self.plugin.as_mut().expect("no request is open");
        match plugin.sample_row(&mut self.buffers.row(n as usize)) {
            Choice::Edited => abi::SAMPLE_EDITED,
            Choice::Take(token) => token as i32,
            Choice::Keep(_) | Choice::Biased => panic!("Keep and Biased are answers of sample; sample_row edits the row, or takes a token"),
        }
    }

    pub fn prepare(&mut self) -> i32 {
        let splice = &mut self.buffers.splice;
        if let Some(token) = self.forced.next() {
            Buffers::set_splice(splice, 0, &[token]);
            return abi::PREPARE_FORCE;
        }
        let mut next = Next { mask: &mut self.buffers.mask, bias: &mut self.buffers.bias, splice, filled: 0 };
        self.plugin.as_mut().expect("no request is open").prepare(&mut next);
        let filled = next.filled;
        if filled & abi::PREPARE_FORCE != 0 {
            self.forced.begin(&mut self.buffers.splice);
        }
        filled
    }

    pub fn accept(&mut self, token: i32) -> i32 {
        match self.plugin().accept(token as Token) {
            Accepted::Continue => abi::ACCEPT_CONTINUE,
            Accepted::Stop => abi::ACCEPT_STOP,
            Accepted::Splice { backtrack, tokens } => {
                Buffers::set_splice(&mut self.buffers.splice, backtrack as u32, &tokens);
                abi::ACCEPT_SPLICE
            }
        }
    }

    pub fn rewind(&mut self, len: i32) -> i32 {
        answer(self.plugin().rewind(len as usize))
    }

    pub fn stop(&mut self, token: i32, len: i32) -> i32 {
        let plugin = self.plugin.as_mut().expect("no request is open");
        let text = core::str::from_utf8(self.buffers.text(len as usize)).expect("the host hands out whole characters");
        plugin.stop(token as Token, text).code()
    }

    pub fn render(&mut self) -> i32 {
        answer(json::parse(&host::messages()).map_err(|e| alloc::format!("messages: {}", e)).and_then(|messages| {
            host::emit(&self.plugin().render(&Message::list(&messages)?)?);
            Ok(())
        }))
    }

    pub fn rewrite(&mut self) -> i32 {
        answer(json::parse(&host::messages()).map_err(|e| alloc::format!("messages: {}", e)).and_then(|messages| {
            let rewritten = self.plugin().rewrite(Message::list(&messages)?)?;
            host::emit(&Value::Array(rewritten.into_iter().map(Message::into_value).collect()).to_string());
            Ok(())
        }))
    }

    /// Writes a draft into the splice buffer, as far as there is room.
    pub fn draft(&mut self, most: i32) -> i32 {
        let mut tokens = self.plugin().draft(most as usize);
        tokens.truncate(most as usize);
        Buffers::set_splice(&mut self.buffers.splice, 0, &tokens);
        tokens.len() as i32
    }

    pub fn run(&mut self) -> i32 {
        if !host::feature(abi::FEATURE_BRANCHES) {
            return answer(Err(String::from("this host runs no programs: it needs a newer one")));
        }
        answer(self.plugin().run(&Run::begin()))
    }

    pub fn close(&mut self) {
        self.plugin().close();
    }
}

impl<P: Exported> Default for Instance<P> {
    fn default() -> Self {
        Instance::new()
    }
}

/// Where a module keeps its one instance.
#[cfg(target_arch = "wasm32")]
pub struct Place<P>(core::cell::UnsafeCell<Instance<P>>);

// Safety: a guest has one thread.
#[cfg(target_arch = "wasm32")]
unsafe impl<P> Sync for Place<P> {}

#[cfg(target_arch = "wasm32")]
impl<P: Exported> Place<P> {
    /// A place with no request.
    pub const fn new() -> Place<P> {
        Place(core::cell::UnsafeCell::new(Instance::new()))
    }

    /// The instance.
    #[allow(clippy::mut_from_ref)]
    pub fn instance(&self) -> &mut Instance<P> {
        // Safety: only the exports ask for it, the host calls them one after another, and no
        // import calls back.
        unsafe { &mut *self.0.get() }
    }
}

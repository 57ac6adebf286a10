// SPDX-License-Identifier: MIT

//! Turns calls of the ABI's exports into calls of a plugin's methods. A module exports all calls;
//! its manifest lists those that the plugin has methods for, and the host makes no others.

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
    pub plan: bool,
    pub rewrite: bool,
    pub render: bool,
    pub draft: bool,
    pub prepare: bool,
    pub sample: bool,
    pub sample_row: bool,
    pub accept: bool,
    pub stop: bool,
    pub filter: bool,
    pub rewind: bool,
    pub run: bool,
    pub close: bool,
}

impl Methods {
    /// A plugin with `open` alone.
    pub const NONE: Methods = Methods {
        warm: false,
        plan: false,
        rewrite: false,
        render: false,
        draft: false,
        prepare: false,
        sample: false,
        sample_row: false,
        accept: false,
        stop: false,
        filter: false,
        rewind: false,
        run: false,
        close: false,
    };

    /// The exports that have a method, as JSON, without some of them.
    pub(crate) fn json(&self, without: &[Call]) -> String {
        let mut list = String::from(r#"["penstock_open""#);
        for (has, name) in [
            (self.warm, "penstock_warm"),
            (self.plan, "penstock_plan"),
            (self.rewrite, "penstock_messages"),
            (self.render, "penstock_template"),
            (self.prepare, "penstock_prepare"),
            (self.sample || self.sample_row, "penstock_sample"),
            (self.accept, "penstock_accept"),
            (self.stop, "penstock_stop"),
            (self.filter, "penstock_filter"),
            (self.draft, "penstock_draft"),
            (self.rewind, "penstock_rewind"),
            (self.run, "penstock_run"),
            (self.close, "penstock_close"),
        ] {
            if has && !without.iter().any(|call| call.export() == name) {
                list += ",\"";
                list += name;
                list += "\"";
            }
        }
        list + "]"
    }
}

/// A plugin that the attribute [`crate::export`] stands on.
pub trait Exported: Plugin {
    /// The methods that it has.
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
        if !host::feature(abi::FEATURE_IMPLEMENTS) {
            panic!("this host calls all that a module exports: the plugin needs a newer one");
        }
        host::emit(&P::MANIFEST.json(&P::METHODS));
    }

    pub fn warm(&mut self) -> i32 {
        answer(P::warm(&Vocabulary::read()).map(|built| table::keep(Some(Box::leak(built)))))
    }

    pub fn plan(&mut self) -> i32 {
        answer(Request::read().and_then(|request| {
            let mut plan = Plan::of(&P::MANIFEST);
            P::plan(&request.config, &mut plan)?;
            host::emit(&plan.json(&P::MANIFEST, &P::METHODS));
            if let Some(built) = plan.table {
                table::keep(Some(Box::leak(built)));
            }
            Ok(())
        }))
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

    pub fn filter(&mut self, len: i32, last: i32) -> i32 {
        let plugin = self.plugin.as_mut().expect("no request is open");
        let text = core::str::from_utf8(self.buffers.text(len as usize)).expect("the host hands out whole characters");
        let filtered = plugin.filter(text, last == 1);
        if let Some(shown) = filtered.shown {
            host::emit(&shown);
        }
        filtered.keep as i32
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

/// Exports a plugin. A method that it does not have is left out of its export's code.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    (std $plugin:ty) => {
        // The message of std about a panic goes to the host; then std traps.
        $crate::exports!($plugin, ::std::panic::set_hook(::std::boxed::Box::new(|info| $crate::host::panicked(info))));
    };
    (no_std $plugin:ty) => {
        $crate::exports!($plugin, ());
    };
    ($plugin:ty, $begin:expr) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::glue::{Exported, Instance, Methods, Place};

            static INSTANCE: Place<$plugin> = Place::new();
            const HAS: Methods = <$plugin as Exported>::METHODS;

            fn call(has: bool, method: impl FnOnce(&mut Instance<$plugin>) -> i32) -> i32 {
                has.then(|| method(INSTANCE.instance())).unwrap_or(0) // the host does not call others
            }

            #[no_mangle]
            pub extern "C" fn penstock_abi_v1() {} // never called: its presence is the version
            #[no_mangle]
            pub extern "C" fn penstock_describe() {
                $begin;
                INSTANCE.instance().describe();
            }
            #[no_mangle]
            pub extern "C" fn penstock_warm() -> i32 {
                $begin; // only warm and plan come before open
                call(HAS.warm, |i| i.warm())
            }
            #[no_mangle]
            pub extern "C" fn penstock_plan() -> i32 {
                $begin;
                call(HAS.plan, |i| i.plan())
            }
            #[no_mangle]
            pub extern "C" fn penstock_open() -> i32 {
                $begin;
                INSTANCE.instance().open()
            }
            #[no_mangle]
            pub extern "C" fn penstock_messages() -> i32 {
                call(HAS.rewrite, |i| i.rewrite())
            }
            #[no_mangle]
            pub extern "C" fn penstock_template() -> i32 {
                call(HAS.render, |i| i.render())
            }
            #[no_mangle]
            pub extern "C" fn penstock_prepare() -> i32 {
                call(HAS.prepare, |i| i.prepare())
            }
            #[no_mangle]
            pub extern "C" fn penstock_sample(n: i32) -> i32 {
                call(HAS.sample || HAS.sample_row, |i| if HAS.sample_row { i.sample_row(n) } else { i.sample(n) })
            }
            #[no_mangle]
            pub extern "C" fn penstock_accept(token: i32) -> i32 {
                call(HAS.accept, |i| i.accept(token))
            }
            #[no_mangle]
            pub extern "C" fn penstock_stop(token: i32, len: i32) -> i32 {
                call(HAS.stop, |i| i.stop(token, len))
            }
            #[no_mangle]
            pub extern "C" fn penstock_filter(len: i32, last: i32) -> i32 {
                call(HAS.filter, |i| i.filter(len, last))
            }
            #[no_mangle]
            pub extern "C" fn penstock_draft(n: i32) -> i32 {
                call(HAS.draft, |i| i.draft(n))
            }
            #[no_mangle]
            pub extern "C" fn penstock_rewind(len: i32) -> i32 {
                call(HAS.rewind, |i| i.rewind(len))
            }
            #[no_mangle]
            pub extern "C" fn penstock_run() -> i32 {
                call(HAS.run, |i| i.run())
            }
            #[no_mangle]
            pub extern "C" fn penstock_close() {
                HAS.close.then(|| INSTANCE.instance().close());
            }
        };
    };
}

// SPDX-License-Identifier: MIT

/// Exports a plugin: the type, and the traits of it that the host is to see.
///
/// ```ignore
/// penstock::export!(Json: Warm, Prepare, Accept, Rewind);
/// ```
///
/// `Plugin` itself is always exported. A panic becomes a fault with the panic's text. At most one of `Sampler` and
/// `RowSampler` can be named. A crate with `#![no_std]` writes `no_std;` first and brings its own allocator and panic handler,
/// which wants Rust 1.68 or newer; the handler may call [`crate::host::panicked`]:
///
/// ```ignore
/// penstock::export!(no_std; Json: Warm, Prepare, Accept, Rewind);
/// ```
#[macro_export]
macro_rules! export {
    (no_std; $plugin:ty : $($point:ident),+ $(,)?) => {
        #[doc(hidden)]
        fn penstock_begin() {}
        $crate::exports!($plugin: $($point),+);
    };
    ($plugin:ty : $($point:ident),+ $(,)?) => {
        /// What std says about a panic goes to the host; then std traps.
        #[doc(hidden)]
        fn penstock_begin() {
            #[cfg(target_arch = "wasm32")]
            ::std::panic::set_hook(::std::boxed::Box::new(|info| $crate::host::panicked(info)));
        }
        $crate::exports!($plugin: $($point),+);
    };
}

/// The exports of a plugin, whatever its allocator is.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    ($plugin:ty : $($point:ident),+) => {
        /// Never called: its presence is the version.
        #[no_mangle]
        pub extern "C" fn penstock_abi_v1() {}

        #[no_mangle]
        pub extern "C" fn penstock_describe() {
            penstock_begin();
            let mut view = "none";
            $( if let Some(v) = $crate::view!($point) { view = v; } )+
            $crate::glue::describe::<$plugin>(view)
        }

        #[no_mangle]
        pub extern "C" fn penstock_open() -> i32 {
            penstock_begin();
            let needs = $crate::glue::Needs::default() $( .and($crate::needs!($plugin, $point)) )+;
            $crate::glue::open::<$plugin>(needs)
        }

        $( $crate::point!($plugin, $point); )+
    };
}

/// The view that an extension point means.
#[doc(hidden)]
#[macro_export]
macro_rules! view {
    (Sampler) => {
        Some("candidates")
    };
    (RowSampler) => {
        Some("logits")
    };
    ($other:ident) => {
        None::<&str>
    };
}

/// The buffers that an extension point needs.
#[doc(hidden)]
#[macro_export]
macro_rules! needs {
    ($p:ty, Sampler) => {
        $crate::glue::Needs { candidates: <$p as $crate::Plugin>::MANIFEST.candidates as usize, ..Default::default() }
    };
    ($p:ty, RowSampler) => {
        $crate::glue::Needs { logits: true, ..Default::default() }
    };
    ($p:ty, Prepare) => {
        $crate::glue::Needs {
            mask: <$p as $crate::Prepare>::MASK,
            biases: <$p as $crate::Prepare>::BIASES,
            splice: <$p as $crate::Prepare>::FORCE as usize,
            ..Default::default()
        }
    };
    ($p:ty, Accept) => {
        $crate::glue::Needs { splice: <$p as $crate::Accept>::SPLICE, ..Default::default() }
    };
    ($p:ty, Stop) => {
        $crate::glue::Needs { text: <$p as $crate::Stop>::TEXT, ..Default::default() }
    };
    ($p:ty, $other:ident) => {
        $crate::glue::Needs::default()
    };
}

/// The export of one extension point.
#[doc(hidden)]
#[macro_export]
macro_rules! point {
    ($p:ty, Sampler) => {
        #[no_mangle]
        pub extern "C" fn penstock_sample(n: i32) -> i32 {
            $crate::glue::sample::<$p>(n)
        }
    };
    ($p:ty, RowSampler) => {
        #[no_mangle]
        pub extern "C" fn penstock_sample(n: i32) -> i32 {
            $crate::glue::sample_row::<$p>(n)
        }
    };
    ($p:ty, Prepare) => {
        #[no_mangle]
        pub extern "C" fn penstock_prepare() -> i32 {
            $crate::glue::prepare::<$p>()
        }
    };
    ($p:ty, Accept) => {
        #[no_mangle]
        pub extern "C" fn penstock_accept(token: i32) -> i32 {
            $crate::glue::accept::<$p>(token)
        }
    };
    ($p:ty, Rewind) => {
        #[no_mangle]
        pub extern "C" fn penstock_rewind(len: i32) -> i32 {
            $crate::glue::rewind::<$p>(len)
        }
    };
    ($p:ty, Stop) => {
        #[no_mangle]
        pub extern "C" fn penstock_stop(token: i32, len: i32) -> i32 {
            $crate::glue::stop::<$p>(token, len)
        }
    };
    ($p:ty, Template) => {
        #[no_mangle]
        pub extern "C" fn penstock_template() -> i32 {
            $crate::glue::template::<$p>()
        }
    };
    ($p:ty, Warm) => {
        #[no_mangle]
        pub extern "C" fn penstock_warm() -> i32 {
            penstock_begin();
            $crate::glue::warm::<$p>()
        }
    };
}

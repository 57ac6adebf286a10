// SPDX-License-Identifier: MIT

//! Keeps the one plugin of a module between calls. A guest has one thread; natively each thread, and so each test, has a plugin of its own.

use alloc::boxed::Box;
use core::any::Any;

/// What the glue keeps between calls.
#[derive(Default)]
pub(crate) struct Kept {
    pub plugin: Option<Box<dyn Any>>,
    pub table: Option<&'static dyn Any>,
    pub buffers: crate::glue::Buffers,
}

#[cfg(target_arch = "wasm32")]
mod place {
    use super::Kept;
    use core::cell::UnsafeCell;

    struct Place(UnsafeCell<Option<Kept>>);
    // Safety: a guest has one thread.
    unsafe impl Sync for Place {}
    static PLACE: Place = Place(UnsafeCell::new(None));

    pub(crate) fn with<R>(f: impl FnOnce(&mut Kept) -> R) -> R {
        // Safety: one thread, and the host never overlaps calls; the glue calls no plugin code that could come back here
        // except `table`, which reads a field the glue does not hold then.
        f(unsafe { &mut *PLACE.0.get() }.get_or_insert_with(Kept::default))
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod place {
    use super::Kept;
    use std::cell::RefCell;

    std::thread_local! {
        static PLACE: RefCell<Kept> = RefCell::new(Kept::default());
    }

    pub(crate) fn with<R>(f: impl FnOnce(&mut Kept) -> R) -> R {
        PLACE.with(|k| f(&mut k.borrow_mut()))
    }
}

pub(crate) use place::with;

/// What [`crate::Warm`] built. Panics where nothing of this type was built: where `Warm` is not exported.
pub fn table<T: 'static>() -> &'static T {
    with(|kept| kept.table).and_then(|t| t.downcast_ref()).expect("the plugin does not export Warm with this table")
}

// SPDX-License-Identifier: MIT

use alloc::boxed::Box;
use core::any::Any;

/// What [`crate::Plugin::warm`] builds: a value of any type, boxed.
pub type Table = Box<dyn Any>;

/// The table once it is built: it lives as long as the module.
pub(crate) type Kept = Option<&'static dyn Any>;

#[cfg(target_arch = "wasm32")]
mod place {
    use super::Kept;
    use core::cell::UnsafeCell;

    struct Place(UnsafeCell<Kept>);
    // Safety: a guest has one thread.
    unsafe impl Sync for Place {}
    static TABLE: Place = Place(UnsafeCell::new(None));

    pub(crate) fn kept() -> Kept {
        // Safety: one thread, and nobody holds a reference to the place.
        unsafe { *TABLE.0.get() }
    }

    pub(crate) fn keep(table: Kept) {
        // Safety: as above.
        unsafe { *TABLE.0.get() = table }
    }
}

/// Natively each thread, and so each test, has its own table.
#[cfg(not(target_arch = "wasm32"))]
mod place {
    use super::Kept;
    use std::cell::Cell;

    std::thread_local! {
        static TABLE: Cell<Kept> = const { Cell::new(None) };
    }

    pub(crate) fn kept() -> Kept {
        TABLE.with(Cell::get)
    }

    pub(crate) fn keep(table: Kept) {
        TABLE.with(|t| t.set(table))
    }
}

pub(crate) use place::keep;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use place::kept;

/// What [`crate::Plugin::warm`] built. Panics if it built nothing, or a value of another type.
pub fn table<T: 'static>() -> &'static T {
    place::kept().and_then(|t| t.downcast_ref()).expect("the plugin has no method warm that builds a table of this type")
}

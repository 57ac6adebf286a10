// SPDX-License-Identifier: MIT

//! Plugins for Penstock in Rust: samplers, masks, stop rules and templates that run inside the
//! host as WebAssembly.
//!
//! A plugin is a type with those methods of the trait [`Plugin`] that it needs. The attribute
//! [`export`] tells the host which these are. A method that is not written costs nothing:
//!
//! ```
//! use penstock::{Candidates, Choice, Manifest, Plugin, Request};
//!
//! struct Greedy;
//!
//! #[penstock::export]
//! impl Plugin for Greedy {
//!     const MANIFEST: Manifest = Manifest { name: "greedy", summary: "takes the likeliest token",
//!     ..Manifest::DEFAULT };
//!
//!     fn open(_: &Request) -> Result<Self, String> {
//!         Ok(Greedy)
//!     }
//!
//!     fn sample(&mut self, candidates: &mut Candidates) -> Choice {
//!         Choice::Take(candidates.ids()[0])
//!     }
//! }
//! ```
//!
//! The crate needs `alloc` and nothing else; a plugin may use `std`, or do without (see
//! [`export`]). Natively, where `cargo test` runs, [`testing::Session`] takes the host's place.

#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(not(target_arch = "wasm32"))]
extern crate std;

#[allow(missing_docs)]
#[path = "abi.gen.rs"]
pub mod abi;
mod answer;
mod bias;
mod branch;
mod buffers;
mod candidates;
mod defaults;
mod draw;
mod forced;
#[doc(hidden)]
pub mod glue;
pub mod grammar;
pub mod host;
pub mod json;
mod manifest;
mod mask;
pub mod math;
mod media;
mod message;
mod next;
mod part;
mod plan;
mod plugin;
mod request;
mod row;
mod run;
mod table;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod vocabulary;

pub use answer::{Accepted, Choice, Decision, Filtered, Verdict};
pub use branch::{Branch, Chain, State};
pub use candidates::Candidates;
pub use manifest::{Manifest, Place, View};
pub use mask::Mask;
pub use media::{Media, MEDIA_TOKEN};
pub use message::Message;
pub use next::Next;
pub use part::Part;
pub use penstock_export::export;
pub use plan::Plan;
pub use plugin::Plugin;
pub use request::{Call, Request};
pub use row::Row;
pub use run::{BranchError, Run};
pub use table::{table, Table};
pub use vocabulary::Vocabulary;

/// A token's id.
pub type Token = u32;

/// Writes a line to the host's log, with its place in the source: `penstock::log!("{} left", n)`.
/// It is the `println!` of plugins, since `println!` itself has no effect in WebAssembly.
#[macro_export]
macro_rules! log {
    ($($format:tt)+) => {
        $crate::host::log($crate::host::Level::Info, &$crate::glue::line(file!(), line!(), format_args!($($format)+)))
    };
}

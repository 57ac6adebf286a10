// SPDX-License-Identifier: MIT

//! Plugins for Penstock in Rust: samplers, masks, stop rules and templates that run inside the host as WebAssembly.
//!
//! A plugin is a type that implements [`Plugin`] and one trait for each extension point it has ([`Sampler`],
//! [`RowSampler`], [`Prepare`], [`Accept`], [`Rewind`], [`Stop`], [`Template`], [`Warm`]), and one line that exports it:
//!
//! ```ignore
//! penstock::export!(MinP: Sampler);
//! ```
//!
//! What is not named there is not exported, and costs nothing. The crate needs `alloc` and nothing else; a plugin may use
//! `std`, or do without (see [`export!`]). Natively, where `cargo test` runs, [`testing::Host`] stands in for the host.

#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(not(target_arch = "wasm32"))]
extern crate std;

#[allow(missing_docs)]
pub mod abi;
mod answer;
mod candidates;
mod cell;
mod export;
#[doc(hidden)]
pub mod glue;
pub mod grammar;
pub mod host;
pub mod json;
mod manifest;
mod mask;
pub mod math;
mod message;
mod next;
mod plugin;
mod request;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod vocabulary;

pub use answer::{Accepted, Choice, Verdict};
pub use candidates::Candidates;
pub use cell::table;
pub use manifest::Manifest;
pub use mask::Mask;
pub use message::Message;
pub use next::Next;
pub use plugin::{Accept, Plugin, Prepare, Rewind, RowSampler, Sampler, Stop, Template, Warm};
pub use request::Request;
pub use vocabulary::Vocabulary;

/// A token's id.
pub type Token = u32;

// SPDX-License-Identifier: MIT

//! The attribute `penstock::export`. It reads which methods an `impl Plugin for …` has, for the
//! plugin's manifest.

#![warn(missing_docs)]

extern crate proc_macro;

mod read;
mod write;

use proc_macro::{Span, TokenStream, TokenTree};

/// Exports a plugin: `#[penstock::export] impl Plugin for MinP { … }`.
///
/// The host calls the methods that the `impl` has, and nothing else of the trait. A panic becomes a
/// fault with the panic's text and place. A crate with `#![no_std]` writes
/// `#[penstock::export(no_std)]` and has its own allocator and panic handler, which needs Rust 1.68
/// or newer; the handler may call `penstock::host::panicked`.
#[proc_macro_attribute]
pub fn export(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let written = has_std(arguments).and_then(|std| Ok(write::exports(&read::plugin(item.clone())?, std)));
    let added = written.unwrap_or_else(Wrong::told);
    item.into_iter().chain(added).collect()
}

/// Whether the plugin has std: it does unless the attribute says no_std.
fn has_std(arguments: TokenStream) -> Result<bool, Wrong> {
    let mut arguments = arguments.into_iter();
    match (arguments.next(), arguments.next()) {
        (None, _) => Ok(true),
        (Some(TokenTree::Ident(word)), None) if word.to_string() == "no_std" => Ok(false),
        (Some(first), _) => {
            Err(Wrong::at(first.span(), "write #[penstock::export], or #[penstock::export(no_std)] in a crate without std"))
        }
    }
}

/// A mistake in the author's code, and where it is.
struct Wrong {
    at: Span,
    what: String,
}

impl Wrong {
    fn at(at: Span, what: impl Into<String>) -> Wrong {
        Wrong { at, what: what.into() }
    }

    /// Code that makes the compiler report it.
    fn told(self) -> TokenStream {
        let code: TokenStream = format!("::core::compile_error!{{{:?}}}", self.what).parse().expect("it is Rust");
        code.into_iter().map(|token| placed(token, self.at)).collect()
    }
}

/// The token as if it had been written there.
fn placed(mut token: TokenTree, at: Span) -> TokenTree {
    token.set_span(at);
    token
}

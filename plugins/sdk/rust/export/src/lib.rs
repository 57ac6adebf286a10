// SPDX-License-Identifier: MIT

//! The attribute `penstock::export`. It reads which methods an `impl Plugin for …` has, which a
//! trait cannot tell, for the plugin's manifest. The compiler reports mistakes of other kinds.

#![warn(missing_docs)]

extern crate proc_macro;

use proc_macro::{Delimiter, Ident, Span, TokenStream, TokenTree};

/// Exports a plugin: `#[penstock::export] impl Plugin for MinP { … }`.
///
/// The host calls the methods that the `impl` has, and nothing else of the trait. A panic becomes a
/// fault with the panic's text and place. A crate with `#![no_std]` writes
/// `#[penstock::export(no_std)]` and has its own allocator and panic handler, which needs Rust 1.68
/// or newer; the handler may call `penstock::host::panicked`.
#[proc_macro_attribute]
pub fn export(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let added = std_or_not(arguments).and_then(|std| exports(std, item.clone().into_iter().collect()));
    item.into_iter().chain(added.unwrap_or_else(|(at, what)| reported(at, &what))).collect()
}

/// A mistake in the author's code: where it is, and what.
type Wrong = (Span, String);

fn wrong<T>(at: Span, what: &str) -> Result<T, Wrong> {
    Err((at, what.to_string()))
}

/// Code that makes the compiler report a mistake.
fn reported(at: Span, what: &str) -> TokenStream {
    let code: TokenStream = format!("::core::compile_error!{{{:?}}}", what).parse().expect("it is Rust");
    let placed = code.into_iter().map(|mut token| {
        token.set_span(at);
        token
    });
    placed.collect()
}

fn std_or_not(arguments: TokenStream) -> Result<&'static str, Wrong> {
    match &arguments.into_iter().collect::<Vec<_>>()[..] {
        [] => Ok("std"),
        [word] if is(word, "no_std") => Ok("no_std"),
        [first, ..] => wrong(first.span(), "write #[penstock::export], or #[penstock::export(no_std)] in a crate without std"),
    }
}

/// Code that exports the plugin, whose `impl Plugin for TYPE { … }` these tokens are.
fn exports(std: &str, item: Vec<TokenTree>) -> Result<TokenStream, Wrong> {
    if let Some(parameters) = item.windows(2).find(|w| is(&w[0], "impl") && is(&w[1], "<")) {
        return wrong(parameters[1].span(), "a plugin is one type; leave out the parameters of the impl");
    }
    let of = item.windows(2).position(|w| is(&w[0], "Plugin") && is(&w[1], "for"));
    let (of, body) = match (of, item.last()) {
        (Some(at), Some(TokenTree::Group(body))) if body.delimiter() == Delimiter::Brace => (at + 2, body.stream()),
        _ => return wrong(item.first().map_or_else(Span::call_site, TokenTree::span), "#[penstock::export] stands on `impl Plugin for …`"),
    };
    let name: TokenStream = item[of..item.len() - 1].iter().take_while(|t| !is(t, "where")).cloned().collect();
    let methods = checked(methods(body.into_iter().collect())?)?;
    let fields: String = methods.iter().map(|m| format!("{}: true, ", m)).collect();
    let code = format!(
        r#"
        #[doc(hidden)]
        impl ::penstock::glue::Exported for {name} {{
            const METHODS: ::penstock::glue::Methods = ::penstock::glue::Methods {{ {fields} ..::penstock::glue::Methods::NONE }};
        }}
        ::penstock::exports!({std} {name});
        "#
    );
    Ok(code.parse().expect("it is Rust"))
}

/// The names of the methods in the impl's body, which may hold constants beside them.
fn methods(body: Vec<TokenTree>) -> Result<Vec<Ident>, Wrong> {
    let (mut methods, mut value) = (Vec::new(), false); // whether it is within a constant's value
    for (token, next) in body.iter().zip(body.iter().skip(1)) {
        value = is(token, "=") || value && !is(token, ";");
        match next {
            TokenTree::Ident(name) if is(token, "fn") => {
                methods.push(name.clone());
                value = false;
            }
            TokenTree::Punct(_) if is(next, "!") && !value => {
                return wrong(token.span(), "the export cannot see the methods that a macro makes; write them out");
            }
            TokenTree::Group(attribute) if is(token, "#") && attribute.stream().into_iter().next().map_or(false, |t| is(&t, "cfg")) => {
                return wrong(token.span(), "an exported method has no condition; put it on the impl");
            }
            _ => {}
        }
    }
    Ok(methods)
}

/// The methods that an author may leave out, of those that there are; `open` is always there.
fn checked(written: Vec<Ident>) -> Result<Vec<Ident>, Wrong> {
    const METHODS: [&str; 14] =
        ["warm", "plan", "run", "close", "rewrite", "render", "draft", "prepare", "sample", "sample_row", "accept", "stop", "filter", "rewind"];
    let has = |name: &&str| written.iter().find(|m| m.to_string() == **name);
    if let (Some(_), Some(second)) = (has(&"sample"), has(&"sample_row")) {
        return wrong(second.span(), "a plugin has `sample` for candidates or `sample_row` for the whole row, not both");
    }
    if let (Some(_), None, Some(other)) = (has(&"run"), has(&"plan"), METHODS[4..].iter().find_map(|m| has(m))) {
        return wrong(other.span(), &format!("a plugin with `run` writes the answer itself; take `{}` or `run` out, or add `plan`, which says what it is", other));
    }
    Ok(METHODS.iter().filter_map(|m| has(m).cloned()).collect())
}

/// Whether a token is a word or a sign.
fn is(token: &TokenTree, text: &str) -> bool {
    !matches!(token, TokenTree::Group(_)) && token.to_string() == text
}

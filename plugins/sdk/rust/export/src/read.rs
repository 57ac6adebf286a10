// SPDX-License-Identifier: MIT

//! Reads an `impl Plugin for TYPE { … }` as far as the manifest needs it. The compiler reports
//! other mistakes.

use crate::Wrong;
use proc_macro::{Delimiter, Ident, Span, TokenStream, TokenTree};
use std::iter::Peekable;

/// What the manifest depends on.
pub(crate) struct Plugin {
    /// The type, as it was written.
    pub name: TokenStream,
    /// The names of the methods.
    pub methods: Vec<Ident>,
}

type Tokens = Peekable<proc_macro::token_stream::IntoIter>;

/// Reads the item that has the attribute.
pub(crate) fn plugin(item: TokenStream) -> Result<Plugin, Wrong> {
    let elsewhere = |at| Wrong::at(at, "#[penstock::export] stands on `impl Plugin for …`");
    let mut tokens = item.into_iter().peekable();
    skip_attributes(&mut tokens)?;
    let begin = tokens.peek().map_or_else(Span::call_site, TokenTree::span);
    if !take(&mut tokens, "impl") {
        return Err(elsewhere(begin));
    }
    if matches!(tokens.peek(), Some(sign) if is_sign(sign, '<')) {
        return Err(Wrong::at(tokens.next().unwrap().span(), "a plugin is one type; leave out the parameters of the impl"));
    }
    let mut called = None;
    while let Some(token) = tokens.next_if(|t| !is(t, "for")) {
        called = Some(token);
    }
    match &called {
        Some(name) if is(name, "Plugin") && take(&mut tokens, "for") => {}
        Some(name) => return Err(elsewhere(name.span())),
        None => return Err(elsewhere(begin)),
    }
    let mut rest: Vec<TokenTree> = tokens.collect();
    match rest.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
            Ok(Plugin { name: rest.into_iter().take_while(|t| !is(t, "where")).collect(), methods: methods(body.stream())? })
        }
        _ => Err(elsewhere(begin)),
    }
}

/// The methods of the impl's body. It may hold constants and types beside them.
fn methods(body: TokenStream) -> Result<Vec<Ident>, Wrong> {
    let mut tokens = body.into_iter().peekable();
    let mut methods = Vec::new();
    loop {
        let condition = skip_attributes(&mut tokens)?;
        match tokens.next() {
            None => return Ok(methods),
            Some(first) if is(&first, "fn") => match (tokens.next(), condition) {
                (Some(TokenTree::Ident(_)), Some(at)) => {
                    return Err(Wrong::at(at, "an exported method has no condition; put it on the impl"))
                }
                (Some(TokenTree::Ident(name)), None) => methods.push(name),
                _ => {} // the compiler says what is wrong
            },
            Some(first) if is(&first, "const") || is(&first, "type") => {
                while matches!(tokens.next(), Some(token) if !ends(&token)) {}
                continue;
            }
            Some(first) => match tokens.clone().find(|t| is_body(t) || ends(t) || is_sign(t, '!')) {
                Some(sign) if is_sign(&sign, '!') => {
                    return Err(Wrong::at(first.span(), "the export cannot see the methods that a macro makes; write them out"));
                }
                _ => {} // the compiler says what is wrong
            },
        }
        while matches!(tokens.next(), Some(token) if !is_body(&token)) {}
    }
}

/// Skips what comes before an item, and says where a #[cfg] is in it.
fn skip_attributes(tokens: &mut Tokens) -> Result<Option<Span>, Wrong> {
    let mut condition = None;
    while let Some(hash) = tokens.next_if(|t| is_sign(t, '#')) {
        if let Some(TokenTree::Group(attribute)) = tokens.next() {
            if matches!(attribute.stream().into_iter().next(), Some(word) if is(&word, "cfg")) {
                condition = Some(hash.span());
            }
        }
    }
    Ok(condition)
}

fn take(tokens: &mut Tokens, word: &str) -> bool {
    tokens.next_if(|t| is(t, word)).is_some()
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(i) if i.to_string() == word)
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(p) if p.as_char() == sign)
}

fn ends(token: &TokenTree) -> bool {
    is_sign(token, ';')
}

fn is_body(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace)
}

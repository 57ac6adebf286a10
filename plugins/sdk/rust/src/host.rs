// SPDX-License-Identifier: MIT

//! The functions of the host.

use crate::json::{self, Value};
use crate::{abi, Media, Message, Part, Token};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

/// Calls `fill(ptr, limit)` with room for its result, as often as the result grows.
pub(crate) fn filled<T: Clone + Default>(guess: usize, mut fill: impl FnMut(*mut u8, i32) -> i32) -> Vec<T> {
    let mut room: Vec<T> = alloc::vec![T::default(); guess];
    loop {
        let n = fill(room.as_mut_ptr() as *mut u8, room.len() as i32).max(0) as usize;
        if n <= room.len() {
            room.truncate(n);
            return room;
        }
        room = alloc::vec![T::default(); n];
    }
}

// The imports read or write within the pointers and lengths given, and those come from slices.
// Safety of each call below follows from that.

/// The request's config as JSON.
pub fn config() -> String {
    text(filled(256, |p, n| unsafe { abi::config(p, n) }))
}

/// The conversation as JSON; empty outside a template.
pub fn messages() -> String {
    text(filled(1024, |p, n| unsafe { abi::messages(p, n) }))
}

/// The pictures and sounds of the prompt, in their order. In `rewrite` and `render` they are those
/// of the conversation, each once. There are none on a host without pictures.
pub fn media() -> Vec<Media> {
    let told = feature("media").then(|| text(filled(256, |p, n| unsafe { abi::media(p, n) })));
    let list = told.and_then(|text| json::parse(&text).ok());
    list.map(|list| Media::list(&list)).unwrap_or_default()
}

/// In `rewrite` and `render`, the text that the model's own template would make from a
/// conversation, with the request's other parts such as its tools. None is the conversation that
/// the plugin got. An error means that the template refuses it, and the log has the reason, or that
/// the host is too old.
pub fn prompt_text(conversation: Option<&[Message]>) -> Result<String, &'static str> {
    if !feature("prompt") {
        return Err("the host is too old to tell what the model's template makes of a conversation");
    }
    let messages = conversation.map(|list| Value::Array(list.iter().cloned().map(Message::into_value).collect()).to_string()).unwrap_or_default();
    let mut refused = false;
    let made = filled(1024, |p, n| {
        let size = unsafe { abi::prompt(messages.as_ptr(), messages.len() as i32, p, n) };
        refused = size < 0;
        size
    });
    match refused {
        true => Err("the model's template makes no prompt of the conversation; the host's log says why"),
        false => Ok(text(made)),
    }
}

/// What the host writes as text is UTF-8.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

/// All tokens so far, prompt first.
pub fn history() -> Vec<Token> {
    history_from(0)
}

/// The tokens from index `from` on; a negative one counts back from the end. The cost depends on
/// the tokens that are copied, not on the whole history.
pub fn history_from(from: i32) -> Vec<Token> {
    filled(64, |p, n| unsafe { abi::history(from, p, n) })
}

/// The last token, if there is one. It allocates nothing.
pub fn last_token() -> Option<Token> {
    let mut token: Token = 0;
    let n = unsafe { abi::history(-1, &mut token as *mut Token as *mut u8, 1) };
    if n == 1 {
        Some(token)
    } else {
        None
    }
}

/// Whether the host has an import or export of the ABI with this name. Ask before calling one that
/// an older host may lack; such an import is declared in a block under
/// `#[link(wasm_import_module = "penstock-optional")]`.
pub fn feature(name: &str) -> bool {
    unsafe { abi::feature(name.as_ptr(), name.len() as i32) == 1 }
}

pub(crate) fn decline(export: &str) -> bool {
    unsafe { abi::decline(export.as_ptr(), export.len() as i32) == abi::DECLINE_OK }
}

pub(crate) fn hold(tokens: usize) -> bool {
    unsafe { abi::hold(tokens.min(i32::MAX as usize) as i32) == abi::HOLD_OK }
}

/// How many tokens there are so far, prompt included. It copies nothing.
pub fn history_len() -> usize {
    unsafe { abi::history(0, core::ptr::NonNull::<u32>::dangling().as_ptr() as *mut u8, 0) }.max(0) as usize
}

/// How much of its fuel the running call has left, in units; none on a host that does not tell. It
/// is the same on every machine, so a plugin may decide by it.
///
/// ```
/// # use penstock::host;
/// # fn improve() -> bool { false }
/// while host::fuel().map_or(true, |left| left > 1_000_000) && improve() {}
/// ```
pub fn fuel() -> Option<i64> {
    if !feature("fuel") {
        return None;
    }
    Some(unsafe { abi::fuel() })
}

/// How long ago the request came, in milliseconds, when the running call began; none in `warm` and
/// `plan`, and on a host that does not tell. A plugin that decides by it gets other answers on a
/// slower machine. Recordings have what it returned, and replays return the same.
pub fn elapsed() -> Option<u32> {
    if !feature("elapsed") {
        return None;
    }
    u32::try_from(unsafe { abi::elapsed() }).ok()
}

/// A number of the request, by the ABI's param kinds.
pub fn param(kind: i32) -> i64 {
    unsafe { abi::param(kind) }
}

/// The request's sampling parameters under the names of a request's body: an object with
/// `temperature`, `top_k`, `samplers` and so on. A client may change them in the middle of an
/// answer. It is null on a host without this function, and empty if there is no request.
pub fn sampling() -> Value {
    described("sampling")
}

/// The model: an object with `name`, `architecture`, `vocabulary_size` and so on, as far as they
/// are known; null on a host without this function.
pub fn model() -> Value {
    described("model")
}

fn described(part: &str) -> Value {
    let known = feature("request").then(|| text(filled(1024, |p, n| unsafe { abi::request(p, n) })));
    let value = known.and_then(|text| json::parse(&text).ok());
    value.and_then(|value| value.get(part).cloned()).unwrap_or_default()
}

/// Attaches a short text to one token, for its trace: in `prepare` and `sample` to the token that
/// is about to be chosen, in `accept` to the accepted one. It is shown to clients that ask for
/// traces, in the page's inspector and in recordings. A note has at most 256 bytes, and a token at
/// most 8; an error means that it is refused, and the log has the reason. On a host without this
/// function it does nothing.
pub fn note(text: &str) -> Result<(), &'static str> {
    if !feature("note") || unsafe { abi::note(text.as_ptr(), text.len() as i32) } == abi::NOTE_OK {
        return Ok(());
    }
    Err("the host refuses the note; its log says why")
}

/// Gives the client a JSON value, which is sent with the answer, under the plugin's name; not in
/// `close`, which is called after the answer has been sent. An error
/// means that the host has no such function or refuses the value, because it is not JSON or too
/// large; the log then has the reason.
pub fn output(value: impl Display) -> Result<(), &'static str> {
    if !feature("output") {
        return Err("the host is too old to give the client a plugin's output");
    }
    let text = value.to_string();
    match unsafe { abi::output(text.as_ptr(), text.len() as i32) } {
        abi::OUTPUT_OK => Ok(()),
        _ => Err("the host refuses the output; its log says why"),
    }
}

/// The answer's text from a byte on, in whole characters; a negative number counts back from the
/// end, so `answer_text(-100)` is the last 100 bytes, which may begin inside a character. It is the
/// current text, whatever was taken back before. In `stop` it may be ahead of the text that was
/// shown, if another plugin holds tokens back. On a host without this function the text is joined
/// from the tokens' pieces.
pub fn answer_text(from: i32) -> Vec<u8> {
    if feature("text") {
        return filled(512, |p, n| unsafe { abi::text(from, p, n) });
    }
    let tokens = history_from(param(abi::PARAM_PROMPT_TOKENS) as i32);
    let all: Vec<u8> = tokens.into_iter().flat_map(piece).collect();
    let begin = if from < 0 { all.len().saturating_sub(from.unsigned_abs() as usize) } else { all.len().min(from as usize) };
    all[begin..].to_vec()
}

/// The part in which the answer's text ends: in `accept` and `stop` that of the token, in `prepare`
/// and `sample` that of the last text. A tag between two parts belongs to the part before it, until
/// there is text after it. The call costs fuel for each byte of the answer.
pub fn part() -> Part {
    if !feature("part") {
        return Part::Unknown;
    }
    Part::of(unsafe { abi::part() })
}

/// In `sample`, `accept` and `stop`, the output of the model's last layer behind the logits from
/// which the token is drawn, after the norm and before the projection to the vocabulary: the input
/// of a probe. It is written to `state`, whose memory is reused; for nearly all models its length
/// is `embedding_size` of [`model`]. It is empty, and the result false, for tokens that a client
/// injected, that came from a splice, or that follow the first of several forced tokens; and on a
/// host without this function. If the model has no hidden states, the host refuses requests with a
/// plugin that calls it.
pub fn hidden_state(state: &mut Vec<f32>) -> bool {
    read_state(state, "state", |p, n| unsafe { abi::state(p, n) })
}

/// Reads a hidden state, if the host has the feature.
pub(crate) fn read_state(state: &mut Vec<f32>, known: &str, read: impl Fn(*mut u8, i32) -> i32) -> bool {
    state.clear();
    if feature(known) {
        state.resize(state.capacity(), 0.0);
        loop {
            let n = read(state.as_mut_ptr() as *mut u8, state.len() as i32).max(0) as usize;
            if n <= state.len() {
                state.truncate(n);
                break;
            }
            state.resize(n, 0.0);
        }
    }
    !state.is_empty()
}

/// In `accept`, the natural logarithm of the probability that the model gave the accepted token,
/// before masks, biases and samplers. None for tokens that a client injected, that came from a
/// splice, or that follow the first of several forced tokens; and on a host without this function.
/// A plugin that calls it costs a pass over all logits for each token.
pub fn logprob() -> Option<f32> {
    if !feature("logprob") {
        return None;
    }
    Some(unsafe { abi::logprob() }).filter(|l| !l.is_nan())
}

pub(crate) fn grammar_reason() -> String {
    text(filled(256, |p, n| unsafe { abi::grammar_reason(p, n) }))
}

/// 64 random bits, the same whenever this position of this request is computed again.
pub fn random() -> u64 {
    unsafe { abi::random() as u64 }
}

/// A random number from the multiples of 2⁻²⁴ in [0, 1).
pub fn uniform() -> f32 {
    (random() >> 40) as f32 / 16777216.0
}

/// The number of tokens in the vocabulary.
pub fn vocab_size() -> usize {
    unsafe { abi::vocab_size() }.max(0) as usize
}

/// The bytes of a token; none for control tokens and for ids that are no token.
pub fn piece(token: Token) -> Vec<u8> {
    filled(32, |p, n| unsafe { abi::piece(token as i32, p, n) })
}

/// The joined pieces of tokens. The text may begin and end inside a character, which is then
/// U+FFFD.
pub fn text_of(tokens: &[Token]) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|t| piece(*t)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn vocab() -> Vec<u8> {
    filled(0, |p, n| unsafe { abi::vocab(p, n) })
}

/// A token's attribute bits.
pub fn attributes(token: Token) -> i32 {
    unsafe { abi::token_attr(token as i32) }.max(0)
}

/// A kind of special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// The beginning of a sequence.
    Bos = abi::SPECIAL_BOS as isize,
    /// The end of a sequence.
    Eos = abi::SPECIAL_EOS as isize,
    /// The end of a turn.
    Eot = abi::SPECIAL_EOT as isize,
    /// A line break.
    Newline = abi::SPECIAL_NEWLINE as isize,
}

/// A special token, if the model has it.
pub fn special(kind: Special) -> Option<Token> {
    let token = unsafe { abi::special(kind as i32) };
    if token < 0 {
        None
    } else {
        Some(token as Token)
    }
}

/// For [`tokenize`]: add the tokens that the model expects at the beginning and end.
pub const ADD_SPECIAL: i32 = abi::TOKENIZE_ADD_SPECIAL;

/// For [`tokenize`]: read the text of control tokens as control tokens.
pub const PARSE_SPECIAL: i32 = abi::TOKENIZE_PARSE_SPECIAL;

/// The tokens of a text. `flags` are [`ADD_SPECIAL`] and [`PARSE_SPECIAL`], joined by `|`; 0 is
/// neither.
pub fn tokenize(text: &str, flags: i32) -> Vec<Token> {
    let len = text.len() as i32;
    filled(text.len() + 2, |p, n| unsafe { abi::tokenize(text.as_ptr(), len, flags, p, n) })
}

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For the plugin's author.
    Debug = abi::LOG_DEBUG as isize,
    /// What happens in normal operation.
    Info = abi::LOG_INFO as isize,
    /// Something may be wrong.
    Warn = abi::LOG_WARN as isize,
    /// Something is wrong.
    Error = abi::LOG_ERROR as isize,
}

/// Writes a line to the request's log. The last lines are attached to the error if the plugin
/// fails. [`crate::log!`] formats a line and says where it comes from.
pub fn log(level: Level, text: &str) {
    unsafe { abi::log(level as i32, text.as_ptr(), text.len() as i32) }
}

/// Sets the text of the error that a refusal means.
pub(crate) fn fail(text: &str) {
    unsafe { abi::fail(text.as_ptr(), text.len() as i32) }
}

pub(crate) fn emit(text: &str) {
    unsafe { abi::emit(text.as_ptr(), text.len() as i32) }
}

/// Writes a panic's text to the log before the trap; the host attaches it to the fault. `export!`
/// has std call it, so only a crate without std needs to.
pub fn panicked(info: &dyn core::fmt::Display) {
    // Not by `fail`: a panic is a mistake of the plugin and no error that it reports.
    log(Level::Error, &alloc::format!("{}", info));
}

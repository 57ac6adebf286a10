// SPDX-License-Identifier: MIT

use crate::{Accepted, Candidates, Choice, Manifest, Message, Next, Request, Token, Verdict, Vocabulary};
use alloc::string::String;

/// A plugin: one value of this type serves one request.
pub trait Plugin: Sized + 'static {
    /// What the plugin says about itself.
    const MANIFEST: Manifest;

    /// Begins a request, from its config. An error refuses the request; the client reads it, so it should name the field,
    /// its value and the remedy.
    fn open(request: &Request) -> Result<Self, String>;
}

/// Sees the best candidates of each row.
pub trait Sampler: Plugin {
    /// Edits the candidates, or takes one.
    fn sample(&mut self, candidates: &mut Candidates) -> Choice;
}

/// Sees each whole row. It must stand before any stage that truncates, and costs a copy of the row.
pub trait RowSampler: Plugin {
    /// Edits the logits (index = token), or takes a token.
    fn sample(&mut self, logits: &mut [f32]) -> Choice;
}

/// Works while the model computes, before the logits exist.
pub trait Prepare: Plugin {
    /// Whether [`Next::mask`] is used.
    const MASK: bool = true;
    /// How many biases [`Next::bias`] is used for at most.
    const BIASES: usize = 0;
    /// Whether [`Next::force`] is used.
    const FORCE: bool = false;

    /// Says what may come next.
    fn prepare(&mut self, next: &mut Next);
}

/// Learns which token was chosen, by whomever.
pub trait Accept: Plugin {
    /// How many tokens a splice of this plugin has at most; 0: it never splices.
    const SPLICE: usize = 0;

    /// Takes note of a token. The tokens of the plugin's own splice are accepted too; another splice is no answer to those.
    fn accept(&mut self, token: Token) -> Accepted;
}

/// Is told when tokens were taken back. A plugin with [`Accept`] and without this gets a fresh instance instead, replayed.
pub trait Rewind: Plugin {
    /// The history is now `len` tokens long, prompt included; [`crate::host::history`] has it.
    fn rewind(&mut self, len: usize);
}

/// Decides from the text when the answer ends.
pub trait Stop: Plugin {
    /// Bytes of text at a time; more comes in several calls.
    const TEXT: usize = 4096;

    /// Sees new text, in whole characters and each once; it may be empty.
    fn stop(&mut self, token: Token, text: &str) -> Verdict;
}

/// Turns a conversation into the text of a prompt.
pub trait Template: Plugin {
    /// An error refuses the request; the client reads it.
    fn render(&mut self, messages: &[Message]) -> Result<String, String>;
}

/// Builds, once for a module and a model, what every request needs; [`crate::table`] gives it back.
pub trait Warm: Plugin {
    /// What is built.
    type Table: 'static;

    /// An error means that the plugin cannot work with this model.
    fn warm(vocabulary: &Vocabulary) -> Result<Self::Table, String>;
}

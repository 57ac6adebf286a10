// SPDX-License-Identifier: MIT

use super::host::{Call, State};
use crate::host::Special;
use crate::{abi, Token};
use std::string::String;
use std::vec::Vec;

/// The request that a plugin gets. A new one is empty and has no vocabulary.
#[derive(Clone, Default)]
pub struct Request {
    pub(super) config: String,
    pub(super) messages: String,
    pub(super) media: String,
    pub(super) vocabulary: Vec<(Vec<u8>, i32)>, // bytes and attribute bits
    pub(super) special: Vec<(i32, Token)>,
    pub(super) prompt: Vec<Token>,
    pub(super) max_tokens: usize,
    pub(super) context_size: usize,
    pub(super) seed: u64,
    pub(super) time: Option<u64>,
    pub(super) choice: usize,
    pub(super) choices: usize,
    pub(super) model: String,
    pub(super) sampling: String,
    pub(super) prompt_text: Option<fn(&str) -> Result<String, String>>,
    lacking: Vec<String>, // features
}

/// Writes methods that set a field.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty => $value:expr;)*) => {
        impl Request {
            $($(#[$doc])*
            pub fn $field(mut self, $field: $type) -> Request {
                self.$field = $value;
                self
            })*
        }
    };
}

setters! {
    /// The plugin's configuration, JSON. The defaults of the manifest's schema are filled in.
    config: &str => config.into();
    /// The conversation, JSON.
    messages: &str => messages.into();
    /// What [`crate::host::media`] reads, JSON.
    media: &str => media.into();
    /// The tokens of the prompt.
    prompt: &[Token] => prompt.to_vec();
    /// The maximum number of tokens to generate.
    max_tokens: usize => max_tokens;
    /// How many tokens fit the slot.
    context_size: usize => context_size;
    /// The seed of random numbers.
    seed: u64 => seed;
    /// When the request arrived, in milliseconds since 1970. It is not known in a new one.
    time: u64 => Some(time);
    /// The model, a JSON object.
    model: &str => model.into();
    /// The request's sampling parameters, a JSON object.
    sampling: &str => sampling.into();
    /// The text that the model's template makes from messages, JSON, or why it refuses them.
    prompt_text: fn(&str) -> Result<String, String> => Some(prompt_text);
}

impl Request {
    /// An empty request.
    pub fn new() -> Request {
        Request::default()
    }

    /// Adds tokens that are text to the vocabulary.
    pub fn pieces<T: AsRef<[u8]>>(mut self, pieces: &[T]) -> Request {
        self.vocabulary.extend(pieces.iter().map(|p| (p.as_ref().to_vec(), 0)));
        self
    }

    /// Adds a token with attribute bits of the ABI.
    pub fn token(mut self, piece: &[u8], attributes: i32) -> Request {
        self.vocabulary.push((piece.to_vec(), attributes));
        self
    }

    /// Adds a token that ends generation, and makes it the special one for that.
    pub fn end(self) -> Request {
        let token = self.vocabulary.len() as Token;
        self.token(b"", abi::ATTR_CONTROL | abi::ATTR_END).special(Special::Eos, token)
    }

    /// Makes a token a special one.
    pub fn special(mut self, kind: Special, token: Token) -> Request {
        self.special.push((kind as i32, token));
        self
    }

    /// The number of this answer among those to its prompt, and how many there are. A new one is
    /// the only one.
    pub fn choice(self, choice: usize, choices: usize) -> Request {
        Request { choice, choices, ..self }
    }

    /// Makes the host an older one, which lacks a feature of the ABI.
    pub fn without(mut self, feature: &str) -> Request {
        self.lacking.push(feature.into());
        self
    }

    /// Runs `f` and answers its calls of the host, as while a plugin without settings is opened.
    /// For tests of a plugin's parts.
    pub fn within<R>(self, f: impl FnOnce() -> R) -> R {
        State::new(self, String::from("{}")).enter(Call::Open, f)
    }

    pub(super) fn has(&self, feature: &str) -> bool {
        abi::FEATURES.contains(&feature) && !self.lacking.iter().any(|f| f == feature)
    }

    /// The model, and the sampling parameters if they are known.
    pub(super) fn described(&self, known: bool) -> String {
        let object = |text: &str| String::from(if text.is_empty() { "{}" } else { text });
        let sampling = if known { &self.sampling } else { "" };
        std::format!(r#"{{"model":{},"sampling":{}}}"#, object(&self.model), object(sampling))
    }
}

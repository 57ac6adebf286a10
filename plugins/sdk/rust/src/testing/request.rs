// SPDX-License-Identifier: MIT

use super::host::State;
use super::program::{Model, Template};
use crate::host::Special;
use crate::{abi, Token};
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

/// The request that a plugin gets. A new one is empty and has no vocabulary.
#[derive(Clone, Debug, Default)]
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
    pub(super) lacking: Vec<String>,
    pub(super) says: Option<Model>,
    pub(super) template: Option<Template<Vec<Token>>>,
    pub(super) prompt_text: Option<Template<String>>,
}

impl Request {
    /// An empty request.
    pub fn new() -> Request {
        Request::default()
    }

    /// The plugin's configuration, JSON. The defaults of the manifest's schema are filled in.
    pub fn config(mut self, json: &str) -> Request {
        self.config = String::from(json);
        self
    }

    /// The conversation, JSON.
    pub fn messages(mut self, json: &str) -> Request {
        self.messages = String::from(json);
        self
    }

    /// What [`crate::host::media`] reads, JSON.
    pub fn media(mut self, json: &str) -> Request {
        self.media = String::from(json);
        self
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

    /// The tokens of the prompt.
    pub fn prompt(mut self, tokens: &[Token]) -> Request {
        self.prompt = tokens.to_vec();
        self
    }

    /// The maximum number of tokens to generate.
    pub fn max_tokens(mut self, n: usize) -> Request {
        self.max_tokens = n;
        self
    }

    /// How many tokens fit the slot.
    pub fn context_size(mut self, n: usize) -> Request {
        self.context_size = n;
        self
    }

    /// The seed of random numbers.
    pub fn seed(mut self, seed: u64) -> Request {
        self.seed = seed;
        self
    }

    /// When the request arrived, in milliseconds since 1970. It is not known in a new one.
    pub fn time(mut self, milliseconds: u64) -> Request {
        self.time = Some(milliseconds);
        self
    }

    /// The number of this answer among those to its prompt, and how many there are. A new one is
    /// the only one.
    pub fn choice(mut self, choice: usize, choices: usize) -> Request {
        self.choice = choice;
        self.choices = choices;
        self
    }

    /// The model, a JSON object.
    pub fn model(mut self, json: &str) -> Request {
        self.model = String::from(json);
        self
    }

    /// The request's sampling parameters, a JSON object.
    pub fn sampling(mut self, json: &str) -> Request {
        self.sampling = String::from(json);
        self
    }

    /// Makes the host an older one, which lacks a feature of the ABI.
    pub fn without(mut self, feature: &str) -> Request {
        self.lacking.push(String::from(feature));
        self
    }

    /// The model of a program: it returns the logits after some tokens, one for each token of the
    /// vocabulary.
    pub fn says(mut self, model: impl Fn(&[Token]) -> Vec<f32> + 'static) -> Request {
        self.says = Some(Model(Rc::new(model)));
        self
    }

    /// The model's template: it returns the prompt for messages, JSON, or why it refuses them.
    pub fn template(mut self, template: impl Fn(&str) -> Result<Vec<Token>, String> + 'static) -> Request {
        self.template = Some(Template(Rc::new(template)));
        self
    }

    /// The text that the model's template makes from messages, JSON, or why it refuses them.
    pub fn prompt_text(mut self, template: impl Fn(&str) -> Result<String, String> + 'static) -> Request {
        self.prompt_text = Some(Template(Rc::new(template)));
        self
    }

    /// Runs `f` and answers its calls of the host, as while a plugin without settings is opened.
    /// For tests of a plugin's parts.
    pub fn within<R>(self, f: impl FnOnce() -> R) -> R {
        let mut state = State::new(self);
        state.begin("{}");
        state.enter(f)
    }
}

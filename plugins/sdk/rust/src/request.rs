// SPDX-License-Identifier: MIT

use crate::{abi, host, json, json::Value, Message};
use alloc::string::String;
use alloc::vec::Vec;

/// The request that a plugin serves.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The config. It fits the manifest's schema, and the schema's defaults are filled in.
    pub config: Value,
    /// The maximum number of tokens to generate; 0 if the request sets no limit, and the answer may
    /// go on until the context is full.
    pub max_tokens: usize,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens that fit the slot.
    pub context_size: usize,
    /// The seed of this choice.
    pub seed: u64,
    /// When the request arrived, in milliseconds since 1970 (UTC); none on a host without this
    /// function.
    pub time: Option<u64>,
    /// The number of this answer among those to its prompt, from 0.
    pub choice: usize,
    /// How many there are, the request's `n`; 1 on a host without this function.
    pub choices: usize,
}

/// A call that a plugin can decline for a request, or leave out of a plan, by the method that it is
/// of.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Rewrite,
    Prepare,
    /// Of `sample_row`, too.
    Sample,
    Accept,
    Draft,
    Stop,
    Filter,
    Rewind,
    Close,
    /// Only of plans.
    Render,
    /// Only of plans.
    Run,
}

impl Call {
    pub(crate) fn export(self) -> &'static str {
        match self {
            Call::Rewrite => "penstock_messages",
            Call::Prepare => "penstock_prepare",
            Call::Sample => "penstock_sample",
            Call::Accept => "penstock_accept",
            Call::Draft => "penstock_draft",
            Call::Stop => "penstock_stop",
            Call::Filter => "penstock_filter",
            Call::Rewind => "penstock_rewind",
            Call::Close => "penstock_close",
            Call::Render => "penstock_template",
            Call::Run => "penstock_run",
        }
    }
}

impl Request {
    /// Has the host go on, in this request, as if the plugin did not have these methods, so that
    /// they cost nothing. It is to be called in [`crate::Plugin::open`]; the error says that it was
    /// not. On a host without this function the methods are called nevertheless.
    ///
    /// ```
    /// # use penstock::{Call, Request};
    /// # struct Coin;
    /// fn open(request: &Request) -> Result<Coin, String> {
    ///     if !request.config.read("active")? {
    ///         request.decline(&[Call::Sample, Call::Accept])?;
    ///     }
    ///     Ok(Coin)
    /// }
    /// ```
    pub fn decline(&self, calls: &[Call]) -> Result<(), String> {
        if calls.is_empty() || !host::feature("decline") {
            return Ok(());
        }
        match calls.iter().find(|call| !host::decline(call.export())) {
            None => Ok(()),
            Some(call) => Err(alloc::format!("the host does not let {} be declined here", call.export())),
        }
    }

    /// Says how many of the last tokens the plugin may take back in this request, at most as many
    /// as the manifest's `hold`: the stream runs so far behind. It is to be called in
    /// [`crate::Plugin::open`]; the error says that it was not, or that `tokens` is more. On a host
    /// without this function the manifest's `hold` stays in force.
    pub fn hold(&self, tokens: usize) -> Result<(), String> {
        if !host::feature("hold") || host::hold(tokens) {
            return Ok(());
        }
        Err("the host does not let so many tokens be held here: the manifest's hold is the most".into())
    }

    /// The request's sampling parameters, see [`host::sampling`].
    pub fn sampling(&self) -> Value {
        host::sampling()
    }

    /// The model, see [`host::model`].
    pub fn model(&self) -> Value {
        host::model()
    }

    /// The conversation as the plugin's `rewrite` got it, for a plugin that has `filter`, too, and
    /// puts back into the answer what it has replaced. It is empty in other plugins, and if the
    /// request has no messages.
    pub fn messages(&self) -> Result<Vec<Message>, String> {
        match host::messages() {
            text if text.is_empty() => Ok(Vec::new()),
            text => Message::list(&json::parse(&text).map_err(|e| alloc::format!("messages: {}", e))?),
        }
    }

    pub(crate) fn read() -> Result<Request, String> {
        let config = json::parse(&host::config()).map_err(|e| alloc::format!("config: {}", e))?;
        let param = |kind| host::param(kind).max(0) as usize;
        Ok(Request {
            config,
            max_tokens: param(abi::PARAM_MAX_TOKENS),
            prompt_tokens: param(abi::PARAM_PROMPT_TOKENS),
            context_size: param(abi::PARAM_CONTEXT_SIZE),
            seed: host::param(abi::PARAM_SEED) as u64,
            time: Some(host::param(abi::PARAM_TIME)).filter(|t| *t >= 0).map(|t| t as u64),
            choice: param(abi::PARAM_CHOICE),
            choices: param(abi::PARAM_CHOICES).max(1),
        })
    }
}

// SPDX-License-Identifier: MIT

use crate::{abi, host, json, json::Value};
use alloc::string::String;

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

impl Request {
    /// The request's sampling parameters, see [`host::sampling`].
    pub fn sampling(&self) -> Value {
        host::sampling()
    }

    /// The model, see [`host::model`].
    pub fn model(&self) -> Value {
        host::model()
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

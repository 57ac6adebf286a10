// SPDX-License-Identifier: MIT

use crate::{abi, host, json, json::Value};
use alloc::string::String;

/// What a plugin learns of the request that it is to serve.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The config. It fits the manifest's schema already, whose defaults are in it.
    pub config: Value,
    /// Tokens to generate at most.
    pub max_tokens: usize,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens that fit the slot.
    pub context_size: usize,
    /// The seed of this choice.
    pub seed: u64,
}

impl Request {
    /// The request's sampling parameters, see [`host::sampling`].
    pub fn sampling(&self) -> Value {
        host::sampling()
    }

    /// What the host says about the model, see [`host::model`].
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
        })
    }
}

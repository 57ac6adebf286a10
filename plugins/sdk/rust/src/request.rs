// SPDX-License-Identifier: MIT

use crate::{abi, host, json::Value};

/// What a plugin learns of the request that it is to serve.
#[derive(Clone, Debug)]
pub struct Request {
    /// The config: it fits the manifest's schema already, and is `{}` where the request gave none.
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
    /// A request with this config, and with 0 for everything else. For tests.
    pub fn with_config(config: Value) -> Request {
        Request { config, max_tokens: 0, prompt_tokens: 0, context_size: 0, seed: 0 }
    }

    pub(crate) fn read() -> Result<Request, alloc::string::String> {
        let text = host::config();
        let config = crate::json::parse(&text).map_err(|e| alloc::format!("config: {}", e))?;
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

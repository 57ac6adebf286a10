// SPDX-License-Identifier: MIT

//! A plugin that tells how sure the model was of its answer, and may end one of which it is not.

use penstock::{host, Accepted, Manifest, Plugin, Request, Token};
use std::format;

/// The plugin in one request.
pub struct Confidence {
    least: Option<f32>, // of the mean probability of the last tokens
    window: usize,
    logprobs: Vec<Option<f32>>, // of the answer's tokens
    choice: usize,
}

#[penstock::export]
impl Plugin for Confidence {
    const MANIFEST: Manifest = Manifest {
        name: "confidence",
        summary: "tells how sure the model was of its answer, and may end one of which it is not",
        config_schema: r#"{
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "least": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "description": "the answer ends below this mean probability"},
                "window": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 16, "description": "of so many of the last tokens"}
            }
        }"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let config = &request.config;
        Ok(Confidence { least: config.read("least")?, window: config.read("window")?, logprobs: Vec::new(), choice: request.choice })
    }

    /// Tokens that were not drawn have no probability, and are left out. A plugin that is begun
    /// anew is told the tokens again, but not their probabilities, so this one goes back by
    /// itself.
    fn accept(&mut self, _: Token) -> Accepted {
        self.logprobs.push(host::logprob());
        let unsure = self.least.map_or(false, |least| self.logprobs.len() >= self.window && self.mean(self.window) < least);
        if !unsure {
            return Accepted::Continue;
        }
        // The answer ends all the same where the client cannot be told.
        let _ = host::output(format!(r#"{{"choice":{},"probability":{:.4},"unsure":true}}"#, self.choice, self.mean(self.window)));
        Accepted::Stop
    }

    fn rewind(&mut self, len: usize) -> Result<(), String> {
        let prompt = host::param(penstock::abi::PARAM_PROMPT_TOKENS) as usize;
        self.logprobs.resize(len.saturating_sub(prompt), None);
        Ok(())
    }
}

impl Confidence {
    /// The geometric mean of the probabilities of the last tokens; 1 where none is known.
    fn mean(&self, last: usize) -> f32 {
        let from = self.logprobs.len().saturating_sub(last);
        let known: Vec<f32> = self.logprobs[from..].iter().flatten().copied().collect();
        if known.is_empty() {
            return 1.0;
        }
        (known.iter().sum::<f32>() / known.len() as f32).exp()
    }
}

// SPDX-License-Identifier: MIT

use crate::compile::compile;
use crate::fill::Filler;
use crate::schema::Schema;
use crate::state::State;
use crate::words::Words;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use penstock::{host, table, Accepted, Manifest, Next, Plugin, Request, Table, Token, Vocabulary};

/// The plugin: where an answer stands in its schema.
pub struct JsonSchema {
    schema: Schema,
    state: State,
    filler: Filler,
    prompt: usize,
    limit: u32, // tokens of the answer
}

#[penstock::export]
impl Plugin for JsonSchema {
    const MANIFEST: Manifest = Manifest {
        name: "json-schema",
        summary: "Answers with JSON that fits a schema, closed before max_tokens",
        config_schema: r#"{"type":"object","required":["schema"],"additionalProperties":false,
            "properties":{"schema":{"type":"object"}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let words: &Words = table();
        let given = request.config.get("schema").ok_or("config.schema is missing; give a JSON schema")?;
        let schema = compile(given, words)?;
        let limit = if request.max_tokens == 0 { u32::MAX >> 1 } else { request.max_tokens as u32 };
        if schema.costs[0] > limit {
            let needed = schema.costs[0];
            return Err(format!("max_tokens: {} is too little for config.schema; it needs up to {}", limit, needed));
        }
        let state = schema.start();
        Ok(JsonSchema { schema, state, filler: Filler::default(), prompt: request.prompt_tokens, limit })
    }

    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        Ok(Box::new(Words::new(vocabulary.clone())?))
    }

    fn prepare(&mut self, next: &mut Next) {
        let words: &Words = table();
        let mut mask = next.mask();
        if self.complete() {
            mask.ban_all();
            words.ends.iter().for_each(|t| mask.allow(*t));
            return;
        }
        let written = host::history_len().saturating_sub(self.prompt) as u32;
        let budget = self.limit.saturating_sub(written + 1);
        self.filler.fill(&self.schema, words, &self.state, budget, &mut mask);
    }

    fn accept(&mut self, token: Token) -> Accepted {
        self.take(token);
        if !self.state.is_empty() && self.complete() {
            return Accepted::Stop; // nothing but the end could follow
        }
        Accepted::Continue
    }

    fn rewind(&mut self, _: usize) -> Result<(), String> {
        self.state = self.schema.start();
        for token in host::history_from(self.prompt as i32).iter() {
            self.take(*token);
        }
        Ok(())
    }
}

impl JsonSchema {
    /// Whether nothing but the end may follow: also after a token that does not fit, which another plugin forced, or a person.
    fn complete(&self) -> bool {
        self.state.iter().all(|stack| stack.is_empty())
    }

    /// Takes the bytes of a token.
    fn take(&mut self, token: Token) {
        let words: &Words = table();
        if words.vocabulary.ends(token) {
            return;
        }
        self.state = self.schema.take(words, &self.state, words.vocabulary.piece(token));
    }
}

/// The reason why a schema is refused, or nothing; for tools and tests.
pub fn refusal(schema: &str, words: &Words) -> Option<String> {
    match penstock::json::parse(schema) {
        Ok(value) => compile(&value, words).err(),
        Err(e) => Some(e.to_string()),
    }
}

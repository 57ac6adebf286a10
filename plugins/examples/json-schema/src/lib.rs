// SPDX-License-Identifier: MIT

//! Answers that are JSON and fit a schema, closed before `max_tokens`. The host's grammar engine
//! knows schemas, and how many tokens complete a text; a request has fields for both. As the
//! operator's plugin it is for requests that do not ask.

extern crate alloc;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use penstock::grammar::{completes, Grammar, Kind, Rest, Within};
use penstock::{host, table, Accepted, Manifest, Next, Plugin, Request, Table, Token, Vocabulary};

/// The plugin: where an answer stands in its schema.
pub struct JsonSchema {
    grammar: Grammar,
    strayed: bool, // something else has put in text against the schema
    prompt: usize,
    limit: usize, // tokens of the answer
}

// There is no rewind: a grammar goes forward only, so the plugin is begun anew where tokens are
// taken back.
#[penstock::export]
impl Plugin for JsonSchema {
    const MANIFEST: Manifest = Manifest {
        name: "json-schema",
        summary: "Answers with JSON that fits a schema, closed before max_tokens",
        config_schema: r#"{"type":"object","required":["schema"],"additionalProperties":false,
            "properties":{"schema":{"type":["object","boolean"],"description":"a JSON schema, which the answer fits"}}}"#,
        strict_mask: true, // what others force must fit, too
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let schema = request.config.get("schema").ok_or("config.schema is missing; give a JSON schema")?;
        if !completes() {
            return Err("this host is too old: it cannot tell how many tokens complete an answer".to_string());
        }
        let grammar = Grammar::open(Kind::JsonSchema, &schema.to_string()).map_err(|e| format!("config.schema: {}", e))?;
        let limit = limit(request);
        match grammar.rest() {
            Rest::Tokens(needed) if needed > limit => {
                Err(format!("max_tokens: {} is too little for config.schema; it needs up to {}", limit, needed))
            }
            Rest::Unknown => {
                Err("config.schema: it takes too long to find its shortest value, or the model has no tokens for it".to_string())
            }
            _ => Ok(JsonSchema { grammar, strayed: false, prompt: request.prompt_tokens, limit }),
        }
    }

    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        let ends: Vec<Token> = (0..vocabulary.len() as Token).filter(|t| vocabulary.ends(*t)).collect();
        Ok(Box::new(ends))
    }

    fn prepare(&mut self, next: &mut Next) {
        if self.strayed {
            let ends: &Vec<Token> = table();
            let mut mask = next.mask();
            mask.ban_all();
            ends.iter().for_each(|t| mask.allow(*t));
            return;
        }
        let written = host::history_len().saturating_sub(self.prompt);
        let filled = match self.grammar.fill_within(next, self.limit.saturating_sub(written)) {
            Within::TooFew => self.grammar.fill(next), // others have put in what needs more
            filled => filled == Within::Filled,
        };
        assert!(filled, "the schema can be read in too many ways here");
    }

    fn accept(&mut self, token: Token) -> Accepted {
        self.strayed |= !self.grammar.accept(token);
        if !self.strayed && self.grammar.rest() == Rest::Ended {
            return Accepted::Stop; // nothing but the end could follow
        }
        Accepted::Continue
    }
}

/// Tokens that the answer may have: up to max_tokens, and up to the end of the context.
fn limit(request: &Request) -> usize {
    let some = |n: usize| if n == 0 { usize::MAX } else { n };
    let room = request.context_size.saturating_sub(request.prompt_tokens);
    some(request.max_tokens).min(some(room))
}

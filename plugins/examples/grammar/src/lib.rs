// SPDX-License-Identifier: MIT

//! Keeps an answer within a grammar, with the host's own grammar engine. A request has a field for
//! that; as the operator's plugin it is for requests that do not ask.

use penstock::grammar::{Grammar, Kind};
use penstock::{Accepted, Manifest, Next, Plugin, Request, Token};

/// The plugin: a place in a grammar.
pub struct Within(Grammar);

// There is no rewind: a grammar goes forward only, so the plugin is begun anew where tokens are
// taken back.
#[penstock::export]
impl Plugin for Within {
    const MANIFEST: Manifest = Manifest {
        name: "grammar",
        summary: "Keeps the answer within a grammar in llama.cpp's notation",
        config_schema: r#"{"type":"object","additionalProperties":false,"required":["grammar"],
            "properties":{"grammar":{"type":"string","minLength":1,"maxLength":262144,"description":"in llama.cpp's notation (GBNF), such as: root ::= [a-z]+"}}}"#,
        strict_mask: true, // what others force must fit, too
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let text: String = request.config.read("grammar")?;
        Grammar::open(Kind::Gbnf, &text).map(Within).map_err(|e| format!("grammar: {}", e))
    }

    fn prepare(&mut self, next: &mut Next) {
        assert!(self.0.fill(next), "the grammar can be read in too many ways here");
    }

    fn accept(&mut self, token: Token) -> Accepted {
        self.0.accept(token);
        Accepted::Continue
    }
}

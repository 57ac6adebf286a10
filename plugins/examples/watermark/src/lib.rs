// SPDX-License-Identifier: MIT

//! A watermark: after each token, a part of the vocabulary that its id and a key decide is "green"
//! and gets a bonus. Who knows the key counts green tokens in a text, and finds more than chance
//! would leave.

use penstock::{host, Choice, Manifest, Plugin, Request, Row, Token};

/// The watermark's key and strength.
pub struct Watermark {
    key: u64,
    bonus: f32,
    threshold: u32, // a token whose hash is below it is green
}

#[penstock::export]
impl Plugin for Watermark {
    const MANIFEST: Manifest = Manifest {
        name: "watermark",
        summary: "Prefers tokens from a keyed half of the vocabulary, so that the text can be recognised",
        config_schema: r#"{"type":"object","additionalProperties":false,"required":["key"],"properties":{
            "key":{"type":"integer","minimum":0,"maximum":9007199254740991},
            "bonus":{"type":"number","minimum":0,"maximum":100,"default":2},
            "share":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1,"default":0.5}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let config = &request.config;
        let threshold = (config.read::<f64>("share")? * 4294967296.0) as u32;
        Ok(Watermark { key: config.read("key")?, bonus: config.read("bonus")?, threshold })
    }

    fn sample_row(&mut self, row: &mut Row) -> Choice {
        let salt = self.salt(host::last_token().unwrap_or(0));
        for (token, logit) in row.logits_mut().iter_mut().enumerate() {
            // Without a branch, so that the compiler can use SIMD.
            let green = hash(salt, token as Token) < self.threshold;
            *logit += if green { self.bonus } else { 0.0 };
        }
        Choice::Edited
    }
}

impl Watermark {
    /// What decides about the tokens after `previous`.
    fn salt(&self, previous: Token) -> u32 {
        let mut x = self.key ^ (u64::from(previous) << 32 | u64::from(previous));
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) as u32
    }

    /// Whether `token` is green after `previous`: the same for whoever has the key.
    pub fn green(&self, previous: Token, token: Token) -> bool {
        hash(self.salt(previous), token) < self.threshold
    }
}

/// A hash of four operations, since it is computed for every token of the row.
fn hash(salt: u32, token: Token) -> u32 {
    let x = (token ^ salt).wrapping_mul(0x9e37_79b1);
    (x ^ x >> 15).wrapping_mul(0x85eb_ca77)
}

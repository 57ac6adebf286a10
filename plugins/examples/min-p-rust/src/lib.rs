// SPDX-License-Identifier: MIT

//! Min-p sampling: a token stays if it is at least `p` times as likely as the likeliest.

use penstock::{json::Value, math, Candidates, Choice, Manifest, Plugin, Request, Sampler};

/// The plugin: the one number it needs.
pub struct MinP {
    margin: f32, // ln p: a token whose logit is further below the best than this is out
}

impl Plugin for MinP {
    const MANIFEST: Manifest = Manifest {
        name: "min-p-rust",
        summary: "Drops tokens less likely than min_p times the likeliest",
        config_schema: r#"{"type":"object","additionalProperties":false,
            "properties":{"min_p":{"type":"number","minimum":0,"maximum":1,"default":0.05}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let p = request.config.get("min_p").and_then(Value::number).unwrap_or(0.05);
        Ok(MinP { margin: math::log(p as f32) })
    }
}

impl Sampler for MinP {
    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        let least = candidates.highest() + self.margin;
        for logit in candidates.logits_mut() {
            if *logit < least {
                *logit = f32::NEG_INFINITY;
            }
        }
        Choice::Edited
    }
}

penstock::export!(MinP: Sampler);

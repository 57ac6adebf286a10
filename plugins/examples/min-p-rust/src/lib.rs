// SPDX-License-Identifier: MIT

//! Min-p sampling: a token stays if it is at least `p` times as likely as the likeliest.

use penstock::{math, Candidates, Choice, Manifest, Plugin, Request};

/// The plugin: the one number it needs.
pub struct MinP {
    margin: f32, // ln p: a token whose logit is further below the best than this is out
}

#[penstock::export]
impl Plugin for MinP {
    const MANIFEST: Manifest = Manifest {
        name: "min-p-rust",
        summary: "Drops tokens less likely than min_p times the likeliest",
        config_schema: r#"{"type":"object","additionalProperties":false,
            "properties":{"min_p":{"type":"number","minimum":0,"maximum":1,"default":0.05,"description":"the share of the highest probability that a token needs"}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        Ok(MinP { margin: math::log(request.config.read("min_p")?) })
    }

    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        // The candidates come best first, so those that are likely enough are the first ones.
        let logits = candidates.logits();
        let least = logits[0] + self.margin;
        Choice::Keep(logits.partition_point(|logit| *logit >= least))
    }
}

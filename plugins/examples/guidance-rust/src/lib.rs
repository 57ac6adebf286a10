// SPDX-License-Identifier: MIT

//! A plugin that owns its request: it goes away from what the model would say after another prompt.

use penstock::{abi, host, json::Value, Branch, BranchError, Chain, Manifest, Plugin, Request, Run, MEDIA_TOKEN};

/// The plugin in one request.
pub struct Guidance {
    scale: f32,
    plausible: f32, // log-probability less than the likeliest token's
    config: Value,
}

const MOST: usize = 256; // tokens that can be plausible

#[penstock::export]
impl Plugin for Guidance {
    const MANIFEST: Manifest = Manifest {
        name: "guidance-rust",
        summary: "classifier-free guidance with a negative prompt, or contrast with a shorter context",
        branches: 2,
        config_schema: r#"{"type": "object", "additionalProperties": false, "properties": {
            "scale": {"type": "number", "minimum": -10, "maximum": 10, "default": 1.5, "description": "1: none; 0: only the other prompt"},
            "negative": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "the other prompt"},
            "messages": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "object"}, "description": "the other prompt, as a conversation"},
            "context": {"type": "integer", "minimum": 1, "description": "the other prompt is this one's last tokens; the default is half of them"},
            "plausible": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.1, "description": "tokens are left out that are less likely than this share of the likeliest"}
        }}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let config = &request.config;
        Ok(Guidance { scale: config.read("scale")?, plausible: config.read::<f32>("plausible")?.ln(), config: config.clone() })
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let mut branch = run.prompt()?;
        let mut other = self.other(run, &branch)?;
        for _ in 0..run.max_tokens() {
            run.wait(MOST, [&branch, &other])?;
            let best = branch.best(MOST);
            branch.mix(&[(&branch, self.scale), (&other, 1.0 - self.scale)]);
            if self.plausible > f32::NEG_INFINITY {
                let plausible = best.iter().take_while(|(_, log)| log - best[0].1 >= self.plausible);
                branch.mask(|mask| plausible.for_each(|(t, _)| mask.allow(*t)));
            }
            let token = branch.sample(&Chain::REQUEST)?;
            if run.ends(token) {
                break;
            }
            run.show(&[token]);
            branch.append(&[token])?;
            other.append(&[token])?;
        }
        Ok(())
    }
}

impl Guidance {
    /// Opens the branch with the other prompt.
    fn other<'r>(&self, run: &'r Run, branch: &Branch) -> Result<Branch<'r>, BranchError> {
        if let Some(messages) = self.config.get("messages") {
            return run.open_messages(&messages.to_string());
        }
        if let Some(text) = self.config.get("negative").and_then(Value::text) {
            return run.open(&host::tokenize(text, abi::TOKENIZE_ADD_SPECIAL));
        }
        let context = self.config.get("context").and_then(Value::integer).map_or((branch.len() + 1) / 2, |n| n as usize);
        // No branch can be opened with the rows of pictures: so the answer is steered to what is
        // seen, too.
        let text: Vec<_> = branch.tokens(branch.len().saturating_sub(context)).into_iter().filter(|t| *t != MEDIA_TOKEN).collect();
        run.open(&text)
    }
}

// SPDX-License-Identifier: MIT

//! A plugin that owns its request: it scores given answers exactly, and gives the likeliest.

use penstock::{host, json::quote, Manifest, Plugin, Request, Run, Token};

/// The plugin in one request.
pub struct Choice {
    texts: Vec<String>,
    tokens: Vec<Vec<Token>>, // of each text
    normalize: String,
}

#[penstock::export]
impl Plugin for Choice {
    const MANIFEST: Manifest = Manifest {
        name: "choice-rust",
        summary: "the likeliest of given answers, by their exact log-probabilities",
        branches: 4,
        config_schema: r#"{"type": "object", "additionalProperties": false, "required": ["choices"], "properties": {
            "choices": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 1000}, "description": "the answers"},
            "normalize": {"enum": ["none", "tokens", "bytes"], "default": "none", "description": "by what an answer's log-probability is divided"}
        }}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let texts: Vec<String> = request.config.read("choices")?;
        let tokens: Vec<Vec<Token>> = texts.iter().map(|text| host::tokenize(text, 0)).collect();
        if let Some(i) = tokens.iter().position(Vec::is_empty) {
            return Err(format!("choices: the model has no tokens for {}", texts[i]));
        }
        Ok(Choice { texts, tokens, normalize: request.config.read("normalize")? })
    }

    /// The prompt is computed once, and a few answers at a time after it.
    fn run(&mut self, run: &Run) -> Result<(), String> {
        let root = run.prompt()?;
        run.wait(0, [&root])?;
        let (mut told, mut best) = (Vec::new(), (0, f64::NEG_INFINITY));
        for group in self.tokens.chunks(3) {
            let mut branches = Vec::new();
            for tokens in group {
                let mut branch = root.fork()?;
                branch.append_scored(tokens)?;
                branches.push(branch);
            }
            run.wait(0, &branches)?;
            for branch in &branches {
                let (i, n) = (told.len(), branch.len() - root.len());
                let sum: f64 = branch.scores(root.len()).iter().map(|log| f64::from(*log)).sum();
                let score = match &self.normalize[..] {
                    "tokens" => sum / n as f64,
                    "bytes" => sum / self.texts[i].len() as f64,
                    _ => sum,
                };
                if score > best.1 {
                    best = (i, score);
                }
                told.push(format!(r#"{{"text":{},"tokens":{},"logprob":{},"score":{}}}"#, quote(&self.texts[i]), n, sum, score));
            }
        }
        run.show(&self.tokens[best.0]);
        Ok(host::output(format!(r#"{{"choices":[{}]}}"#, told.join(",")))?)
    }
}

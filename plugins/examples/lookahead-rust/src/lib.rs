// SPDX-License-Identifier: MIT

//! A plugin that owns its request: where the model is unsure, it looks where several continuations
//! lead.

use penstock::{host, Manifest, Plugin, Request, Run, State};

/// The plugin in one request.
pub struct Lookahead {
    width: usize,
    tokens: usize,
    entropy: f32,
}

#[penstock::export]
impl Plugin for Lookahead {
    const MANIFEST: Manifest = Manifest {
        name: "lookahead-rust",
        summary: "grows several continuations where the model is unsure, and goes on with the likeliest",
        branches: 16,
        branches_config: "width",
        config_schema: r#"{"type": "object", "additionalProperties": false, "properties": {
            "width": {"type": "integer", "minimum": 2, "maximum": 16, "default": 4, "description": "continuations that are grown"},
            "tokens": {"type": "integer", "minimum": 2, "maximum": 256, "default": 12, "description": "how long they are"},
            "entropy": {"type": "number", "minimum": 0, "maximum": 20, "default": 0.7, "description": "from so many nats on the model counts as unsure"}
        }}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let config = &request.config;
        Ok(Lookahead { width: config.read("width")?, tokens: config.read("tokens")?, entropy: config.read("entropy")? })
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let (mut branch, greedy, mut looks) = (run.prompt()?, run.chain(r#"{"temperature": 0}"#)?, 0);
        let start = branch.len();
        while branch.len() - start < run.max_tokens() {
            run.wait(self.width, [&branch])?;
            let unsure = branch.entropy() >= self.entropy;
            looks += unsure as usize;
            let (from, first) = (branch.len(), branch.best(if unsure { self.width } else { 1 }));
            let mut branches = run.select(vec![branch], &vec![0; first.len()])?;
            for (grown, (token, _)) in branches.iter_mut().zip(&first) {
                grown.append_scored(&[*token])?;
                if unsure && !run.ends(*token) {
                    grown.run_scored(&greedy, self.tokens - 1)?;
                }
            }
            if unsure {
                run.wait(0, branches.iter().filter(|b| b.state() == State::Running))?;
            }
            let mut best = 0;
            for i in 1..branches.len() {
                if mean(&branches[i].scores(from)) > mean(&branches[best].scores(from)) {
                    best = i;
                }
            }
            branch = branches.swap_remove(best);
            let mut said = branch.tokens(from);
            let ended = said.last().map_or(true, |t| run.ends(*t));
            if ended {
                said.pop();
            }
            run.show(&said);
            if ended || branch.state() == State::Ended {
                break;
            }
        }
        Ok(host::output(format!(r#"{{"looks":{}}}"#, looks))?)
    }
}

fn mean(scores: &[f32]) -> f32 {
    scores.iter().map(|s| s / scores.len() as f32).sum()
}

// SPDX-License-Identifier: MIT

//! A plugin that owns its request: it draws several answers, and gives the likeliest, or what most
//! of them agree on.

pub mod pattern;

use pattern::Pattern;
use penstock::{host, json::quote, Chain, Manifest, Plugin, Request, Run};

/// The plugin in one request.
pub struct BestOf {
    n: usize,
    vote: Option<Pattern>,
}

/// One of the answers that are drawn.
struct Answer {
    text: String,
    mean: f32, // log-probability of its tokens
    vote: String,
}

#[penstock::export]
impl Plugin for BestOf {
    const MANIFEST: Manifest = Manifest {
        name: "best-of-rust",
        summary: "the likeliest of several answers, or the one that most of them agree on (self-consistency)",
        branches: 16,
        branches_config: "n",
        config_schema: r#"{"type": "object", "additionalProperties": false, "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "answers that are drawn"},
            "vote": {"type": "string", "maxLength": 1000, "default": "", "description": "a regular expression; the answers vote for what its first group, or all of it, matches last"}
        }}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let vote: String = request.config.read("vote")?;
        let vote = Some(vote).filter(|v| !v.is_empty()).map(|v| Pattern::read(&v)).transpose();
        Ok(BestOf { n: request.config.read("n")?, vote: vote.map_err(|e| format!("config.vote: {}", e))? })
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let root = run.prompt()?;
        let start = root.len();
        let mut branches = run.select(vec![root], &vec![0; self.n])?;
        branches.iter_mut().try_for_each(|b| b.run_scored(&Chain::REQUEST, run.max_tokens()))?;
        run.wait(0, &branches)?;
        let mut answers = Vec::new();
        for branch in &branches {
            let (text, scores) = (host::text_of(&branch.tokens(start)), branch.scores(start));
            let vote = self.vote.as_ref().map_or(String::new(), |vote| vote.last(&text).unwrap_or_default());
            answers.push(Answer { text, mean: scores.iter().map(|s| s / scores.len() as f32).sum(), vote });
        }
        // Who says nothing has no vote.
        let votes = |a: &Answer| answers.iter().filter(|b| !a.vote.is_empty() && a.vote == b.vote).count();
        let mut best = 0;
        for (i, a) in answers.iter().enumerate() {
            let (these, most) = (votes(a), votes(&answers[best]));
            if these > most || these == most && a.mean > answers[best].mean {
                best = i;
            }
        }
        run.show_scored(&branches[best].tokens(start), &branches[best].scores(start));
        let told = answers.iter().map(|a| format!(r#"{{"text":{},"logprob":{},"vote":{}}}"#, quote(&a.text), a.mean, quote(&a.vote)));
        let told = told.collect::<Vec<_>>().join(",");
        Ok(host::output(format!(r#"{{"answers":[{}],"best":{}}}"#, told, best))?)
    }
}

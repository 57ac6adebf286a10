// SPDX-License-Identifier: MIT

//! A plugin that owns its request: it writes the answer of a beam search, by the rules of
//! Transformers.

use penstock::{host, json::quote, Manifest, Plugin, Request, Run, Token};

/// The plugin in one request.
pub struct Beam {
    width: usize,
    penalty: f64,
}

/// A continuation of the prompt.
#[derive(Clone, Default)]
struct Hypothesis {
    from: usize, // branch, of which it is one token ahead
    tokens: Vec<Token>,
    sum: f64, // of log-probabilities; of one that has ended, by its length
}

#[penstock::export]
impl Plugin for Beam {
    const MANIFEST: Manifest = Manifest {
        name: "beam-rust",
        summary: "beam search: the most likely answer that several continuations at once find",
        branches: 16,
        branches_config: "width",
        config_schema: r#"{"type": "object", "additionalProperties": false, "properties": {
            "width": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "continuations kept at each step"},
            "length_penalty": {"type": "number", "minimum": -5, "maximum": 5, "default": 1, "description": "sums of log-probabilities are divided by the length to this power"}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        Ok(Beam { width: request.config.read("width")?, penalty: request.config.read("length_penalty")? })
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let k = self.width + 16; // of which so many may be end tokens
        let (mut branches, mut live, mut done) = (vec![run.prompt()?], vec![Hypothesis::default()], Vec::new());
        for n in 1.. {
            run.wait(k, &branches)?;
            let (mut all, mut next) = (Vec::new(), Vec::new());
            for (from, (branch, h)) in branches.iter().zip(&live).enumerate() {
                for (token, log) in branch.best(k) {
                    all.push(Hypothesis { from, tokens: [&h.tokens[..], &[token]].concat(), sum: h.sum + f64::from(log) });
                }
            }
            let norm = (n as f64).powf(self.penalty);
            for (rank, mut h) in best(all, usize::MAX).into_iter().enumerate() {
                let (end, last) = (run.ends(h.tokens[n - 1]), n >= run.max_tokens());
                if rank < self.width && (end || last) {
                    h.tokens.truncate(if end { n - 1 } else { n });
                    done.push(Hypothesis { sum: h.sum / norm, ..h });
                    done = best(done, self.width);
                } else if next.len() < self.width && !end && !last {
                    next.push(h);
                }
            }
            if next.is_empty() || done.len() == self.width && done[self.width - 1].sum >= next[0].sum / norm {
                break;
            }
            branches = run.select(branches, &next.iter().map(|h| h.from).collect::<Vec<_>>())?;
            live = next;
            branches.iter_mut().zip(&live).try_for_each(|(branch, h)| branch.append(&h.tokens[n - 1..]))?;
        }
        done.iter().take(run.choices()).enumerate().for_each(|(i, h)| drop(run.show_choice(i, &h.tokens, None)));
        let told =
            done.iter().map(|h| format!(r#"{{"text":{},"tokens":{:?},"score":{}}}"#, quote(&host::text_of(&h.tokens)), h.tokens, h.sum));
        Ok(host::output(format!(r#"{{"beams":[{}]}}"#, told.collect::<Vec<_>>().join(",")))?)
    }
}

/// The best hypotheses, best first.
fn best(mut all: Vec<Hypothesis>, most: usize) -> Vec<Hypothesis> {
    all.sort_by(|a, b| b.sum.total_cmp(&a.sum));
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock::testing::{Request, Session};

    // What it does with a model is in the folder cases.

    #[test]
    fn best_are_the_likeliest_and_few() {
        let all = [-2.0, -0.5, -1.0].map(|sum| Hypothesis { sum, ..Hypothesis::default() });
        assert_eq!(best(all.to_vec(), 2).iter().map(|h| h.sum).collect::<Vec<_>>(), [-0.5, -1.0]);
    }

    #[test]
    fn open_reads_the_config() {
        let session = Session::<Beam>::open(Request::new().config(r#"{"length_penalty":0}"#));
        assert_eq!((session.plugin().width, session.plugin().penalty), (4, 0.0));
    }
}

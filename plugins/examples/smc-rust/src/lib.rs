// SPDX-License-Identifier: MIT

//! A plugin that owns its request: it draws a text that keeps a rule, by sequential Monte Carlo. A
//! mask alone would prefer texts that the rule leaves little choice in; weighted particles do not.

mod particles;

use particles::{pick, resample, weigh, Particle};
use penstock::{host, json::quote, table, Manifest, Plugin, Request, Run, Table, Token, Vocabulary};

/// The plugin in one request.
pub struct Smc {
    allowed: Vec<Token>,
    particles: usize,
}

#[penstock::export]
impl Plugin for Smc {
    const MANIFEST: Manifest = Manifest {
        name: "smc-rust",
        summary: "draws a text without given characters, as likely as the model's own that happen to have none",
        branches: 16,
        branches_config: "particles",
        config_schema: r#"{"type": "object", "additionalProperties": false, "required": ["without"], "properties": {
            "without": {"type": "string", "minLength": 1, "maxLength": 100, "description": "characters that the text has none of"},
            "particles": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "continuations that are drawn at once"}
        }}"#,
        ..Manifest::DEFAULT
    };

    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        Ok(Box::new(vocabulary.clone()))
    }

    /// Allows the end tokens, and those without the characters.
    fn open(request: &Request) -> Result<Self, String> {
        let (words, without): (&Vocabulary, String) = (table(), request.config.read("without")?);
        let lacks = |piece: &[u8]| !piece.is_empty() && !String::from_utf8_lossy(piece).contains(|c| without.contains(c));
        let allowed = (0..words.len() as Token).filter(|t| words.ends(*t) || lacks(words.piece(*t))).collect();
        Ok(Smc { allowed, particles: request.config.read("particles")? })
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let (root, plain) = (run.prompt()?, run.chain(r#"{"temperature": 1, "samplers": ["temperature"]}"#)?);
        let (start, mut evidence) = (root.len(), 0.0);
        let mut particles: Vec<Particle> = run.select(vec![root], &vec![0; self.particles])?.into_iter().map(Particle::new).collect();
        for _ in 0..run.max_tokens() {
            if particles.iter().all(|p| p.ended) {
                break;
            }
            run.wait(0, particles.iter().filter(|p| !p.ended).map(|p| &p.branch))?;
            for p in particles.iter_mut().filter(|p| !p.ended) {
                let all = p.branch.log_sum();
                p.branch.mask(|mask| self.allowed.iter().for_each(|t| mask.allow(*t)));
                p.log += f64::from(p.branch.log_sum() - all);
                let token = p.branch.sample(&plain)?;
                p.ended = run.ends(token);
                if !p.ended {
                    p.branch.append(&[token])?;
                }
            }
            let (weights, mean, size) = weigh(&particles);
            if 2.0 * size < particles.len() as f64 {
                particles = resample(run, particles, &weights)?;
                evidence += mean;
            }
        }
        let (weights, mean, _) = weigh(&particles);
        run.show(&particles[pick(&weights, host::uniform().into())].branch.tokens(start));
        let text = |p: &Particle| quote(&host::text_of(&p.branch.tokens(start)));
        let told = particles.iter().zip(&weights).map(|(p, w)| format!(r#"{{"text":{},"weight":{:.6}}}"#, text(p), w));
        let told = told.collect::<Vec<_>>().join(",");
        Ok(host::output(format!(r#"{{"log_evidence":{:.6},"particles":[{}]}}"#, evidence + mean, told))?)
    }
}

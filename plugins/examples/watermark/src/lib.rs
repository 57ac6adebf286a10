// SPDX-License-Identifier: MIT

//! A watermark in the choice of tokens: who has the key finds it in the text, and nobody else can
//! tell that it is there. The number that the key and the last tokens give each token decides
//! which of the likely ones comes ("gumbel"), or which get a bonus ("green"). See
//! docs/plugins/watermark.md.

use penstock::json::Value;
use penstock::{host, Accepted, Call, Candidates, Choice, Manifest, Next, Plan, Plugin, Request, Token, View};
use std::collections::BTreeMap;

pub mod keyed;

use keyed::Key;

/// The plugin in one request.
pub struct Watermark {
    scheme: Scheme,
    key: Key,
    width: usize, // of a context, in tokens
    prompt: usize,
    answer: Vec<Token>,
    seen: BTreeMap<Vec<Token>, usize>, // contexts, and where in the answer the first token after each is
    weights: Vec<f32>,
    times: Vec<(f64, usize)>,
}

#[derive(Clone, Copy)]
enum Scheme {
    Gumbel,
    /// Tokens whose half is below the threshold get the bonus.
    Green {
        threshold: u16,
        bonus: f32,
    },
}

/// The largest number of green tokens.
const MOST_GREEN: u32 = 160_000;

#[penstock::export]
impl Plugin for Watermark {
    const MANIFEST: Manifest = Manifest {
        name: "watermark",
        version: "2.0.0",
        summary: "marks text, so that whoever has the key recognises it: without a bias (gumbel), or by a list of preferred tokens (green)",
        candidates: 1024,
        biases: MOST_GREEN,
        config_schema: r#"{"type": "object", "additionalProperties": false, "required": ["key"], "properties": {
            "key": {"type": "string", "pattern": "^[0-9a-fA-F]{64}$", "writeOnly": true, "description": "64 hexadecimal digits, as `openssl rand -hex 32` prints; keep it secret"},
            "scheme": {"enum": ["gumbel", "green"], "default": "gumbel", "description": "gumbel draws by the key and changes no probability; green prefers tokens, also at temperature 0"},
            "context": {"type": "integer", "minimum": 1, "maximum": 8, "default": 4, "description": "how many tokens before a token decide its number"},
            "gamma": {"type": "number", "minimum": 0.01, "maximum": 0.5, "default": 0.25, "description": "green: the share of tokens that are green"},
            "delta": {"type": "number", "minimum": 0, "maximum": 100, "default": 2, "description": "green: what is added to a green token's logit"},
            "greedy": {"enum": ["refuse", "pass"], "default": "refuse", "description": "gumbel: what becomes of a request at temperature 0, which cannot be marked"}}}"#,
        ..Manifest::DEFAULT
    };

    /// Leaves out the half that the scheme has no use for.
    fn plan(config: &Value, plan: &mut Plan) -> Result<(), String> {
        if config.read::<String>("scheme")? == "gumbel" {
            plan.without.push(Call::Prepare);
        } else {
            plan.without.push(Call::Sample);
            plan.view = View::None;
        }
        Ok(())
    }

    fn open(request: &Request) -> Result<Self, String> {
        let config = &request.config;
        let (name, width): (String, usize) = (config.read("scheme")?, config.read("context")?);
        let scheme = if name == "gumbel" {
            check_chain(&request.sampling(), config.read::<String>("greedy")? == "refuse")?;
            Scheme::Gumbel
        } else {
            let gamma: f64 = config.read("gamma")?;
            if host::vocab_size() as f64 * gamma > 0.98 * f64::from(MOST_GREEN) {
                return Err(format!("gamma: of {} tokens more than {} would be green; lower it", host::vocab_size(), MOST_GREEN));
            }
            Scheme::Green { threshold: (gamma * 65_536.0) as u16, bonus: config.read("delta")? }
        };
        // One key may serve both schemes and all widths.
        let key = Key::parse(&config.read::<String>("key")?)?.after(&[u32::from(name == "green"), width as u32]);
        Ok(Watermark {
            scheme,
            key,
            width,
            prompt: request.prompt_tokens,
            answer: Vec::new(),
            seen: BTreeMap::new(),
            weights: Vec::new(),
            times: Vec::new(),
        })
    }

    /// Gives the green tokens their bonus.
    fn prepare(&mut self, next: &mut Next) {
        if let (Scheme::Green { threshold, bonus }, Some(key)) = (self.scheme, self.next_key()) {
            key.below(threshold, host::vocab_size(), |token| {
                next.bias(token, bonus);
            });
        }
    }

    /// Has the tokens run a race: with the number u of a token as its chance, −ln(u)/p is the time
    /// that it takes. To draw the winner is to draw with the probabilities p for whoever does not
    /// know the key (Aaronson, 2022). The host draws, since only it knows the request's grammar: of
    /// the tokens that fit, the first has all of the probability.
    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        let key = match (self.scheme, self.next_key()) {
            (Scheme::Gumbel, Some(key)) if candidates.len() > 1 => key,
            _ => return Choice::Keep(candidates.len()),
        };
        let (weights, _) = candidates.softmax(&mut self.weights);
        self.times.clear();
        self.times.extend(candidates.ids().iter().zip(weights.iter()).enumerate().map(|(i, (token, weight))| {
            let u = (f64::from(key.number(*token)) + 0.5) / 4_294_967_296.0;
            (-u.ln() / f64::from(*weight), i)
        }));
        self.times.sort_unstable_by(|a, b| a.partial_cmp(b).expect("no time is NaN"));
        for (rank, (_, i)) in self.times.iter().enumerate() {
            candidates.logits_mut()[*i] = 0.0 - 200.0 * rank as f32;
        }
        Choice::Edited
    }

    fn accept(&mut self, token: Token) -> Accepted {
        let at = self.answer.len();
        if at >= self.width {
            self.seen.entry(self.answer[at - self.width..].to_vec()).or_insert(at);
        }
        self.answer.push(token);
        Accepted::Continue
    }

    fn rewind(&mut self, len: usize) -> Result<(), String> {
        let left = len.saturating_sub(self.prompt);
        self.answer.truncate(left);
        self.seen.retain(|_, at| *at < left);
        Ok(())
    }
}

impl Watermark {
    /// What decides the numbers of the tokens that may come next; none where the next token is not
    /// marked. The answer's first tokens are drawn by chance, so that answers to one question
    /// differ (after Christ, Gunn and Zamir, 2023), and so is a token after a context that the
    /// answer had before: the same numbers again would not be random (Hu et al., 2023).
    fn next_key(&self) -> Option<Key> {
        let context = &self.answer[self.answer.len().checked_sub(self.width)?..];
        (!self.seen.contains_key(context)).then(|| self.key.after(context))
    }
}

/// Refuses what the gumbel scheme could not mark, since it leaves the host no choice.
fn check_chain(sampling: &Value, refuse_greedy: bool) -> Result<(), String> {
    let temperature = sampling.get("temperature").and_then(Value::number).unwrap_or(1.0);
    if refuse_greedy && temperature <= 0.0 {
        return Err(
            "temperature is 0, so nothing is drawn that gumbel could mark: set a temperature above 0, scheme green, or greedy pass".into(),
        );
    }
    let names = sampling.get("samplers").and_then(Value::items).unwrap_or(&[]);
    match names.iter().filter_map(Value::text).skip_while(|name| *name != "plugin:watermark").nth(1) {
        Some(after) => Err(format!("samplers: gumbel decides the draw, so plugin:watermark must be the last; {} is after it", after)),
        None => Ok(()),
    }
}

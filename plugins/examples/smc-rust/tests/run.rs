// SPDX-License-Identifier: MIT

use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::Token;
use smc_rust::Smc;
use std::collections::BTreeMap;

const LONGEST: usize = 4;
const PIECES: [&str; 5] = ["a", "b", "c", "e", "go"];
const END: usize = 5;

/// A model of six tokens, of which the last ends the text. After an a, which e mostly follows,
/// little is left without one; after a b much is.
fn letters(tokens: &[Token]) -> Vec<f32> {
    let likely: [f32; 6] = match tokens[tokens.len() - 1] {
        0 => [0.03, 0.05, 0.05, 0.8, 0.02, 0.05],
        1 => [0.3, 0.2, 0.2, 0.05, 0.05, 0.2],
        2 => [0.1, 0.2, 0.1, 0.28, 0.02, 0.3],
        3 => [0.2, 0.2, 0.1, 0.05, 0.05, 0.4],
        _ => [0.6, 0.2, 0.1, 0.04, 0.01, 0.05], // the prompt
    };
    likely.iter().map(|p| p.ln() + 1.0).collect()
}

/// How likely each text is that the rule allows.
fn enumerate(tokens: &[Token], text: &str, likely: f64, all: &mut BTreeMap<String, f64>) {
    let weights: Vec<f64> = letters(tokens).iter().map(|l| f64::from(*l).exp()).collect();
    let sum: f64 = weights.iter().sum();
    for (t, weight) in weights.iter().enumerate() {
        let p = likely * weight / sum;
        match t {
            END => *all.entry(text.to_string()).or_default() += p,
            3 | 4 => {}
            _ if tokens.len() == LONGEST => *all.entry(format!("{}{}", text, PIECES[t])).or_default() += p,
            _ => enumerate(&[tokens, &[t as Token]].concat(), &format!("{}{}", text, PIECES[t]), p, all),
        }
    }
}

/// What a run gives: the logarithm of its evidence, and its particles.
fn drawn(config: &str, seed: u64) -> (f64, Vec<(String, f64)>) {
    let request = Request::new().config(config).pieces(&PIECES).end().prompt(&[4]).max_tokens(LONGEST).context_size(64);
    let mut session = Session::<Smc>::open(request.seed(seed).says(letters));
    assert!(session.run().unwrap().len() <= LONGEST);
    let output = json::parse(&session.outputs()[0]).unwrap();
    let particle = |p: &Value| (p.read("text").unwrap(), p.read("weight").unwrap());
    (output.read("log_evidence").unwrap(), output.get("particles").and_then(Value::items).unwrap().iter().map(particle).collect())
}

/// The weighted particles of many runs are the exact posterior, and the mean of their evidence is
/// how likely the model is to keep the rule by itself. The seeds are 0 to 499, so the figures are
/// the same in every run.
#[test]
fn smc_is_the_posterior() {
    const RUNS: u64 = 500;
    let mut exact = BTreeMap::new();
    enumerate(&[4], "", 1.0, &mut exact);
    let want: f64 = exact.values().sum();
    let (mut evidence, mut squares, mut found) = (0.0, 0.0, BTreeMap::<String, f64>::new());
    for seed in 0..RUNS {
        let (log, particles) = drawn(r#"{"without":"eg","particles":8}"#, seed);
        evidence += log.exp();
        squares += log.exp() * log.exp();
        particles.into_iter().for_each(|(text, weight)| *found.entry(text).or_default() += log.exp() * weight);
    }
    let mean = evidence / RUNS as f64;
    let error = ((squares / RUNS as f64 - mean * mean) / RUNS as f64).sqrt();
    println!("seeds 0 to {}: the evidence is {} ± {}, exactly it is {}", RUNS - 1, mean, error, want);
    assert!(error > 0.0 && (mean - want).abs() < 4.0 * error, "the evidence is {} ± {}, exactly it is {}", mean, error, want);
    for (text, p) in &exact {
        let got = found.get(text).copied().unwrap_or(0.0) / evidence;
        assert!((got - p / want).abs() < 0.03, "{:?} has the weight {}, exactly {}", text, got, p / want);
    }
    assert!(found.keys().all(|text| exact.contains_key(text)), "a text breaks the rule: {:?}", found.keys());
}

/// One particle is what a mask alone draws, and prefers what begins with an a: the test above
/// would see that.
#[test]
fn smc_with_one_particle_is_no_posterior() {
    let mut exact = BTreeMap::new();
    enumerate(&[4], "", 1.0, &mut exact);
    let share = exact.iter().filter(|(text, _)| text.starts_with('a')).map(|(_, p)| p).sum::<f64>() / exact.values().sum::<f64>();
    let begins = (0..500).filter(|seed| drawn(r#"{"without":"eg","particles":1}"#, *seed).1[0].0.starts_with('a')).count();
    assert!(begins as f64 / 500.0 > share + 0.1, "{} of 500 begin with an a, exactly {}", begins, share * 500.0);
}

// SPDX-License-Identifier: MIT

use best_of_rust::BestOf;
use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::Token;
use std::collections::HashMap;

const PIECES: [&str; 6] = ["so ", "5", "it is ", "that makes ", "4", "go"];

/// A model that says 4 in two ways, which together are likelier than 5, the likeliest answer.
fn sums(tokens: &[Token]) -> Vec<f32> {
    let likely: [f32; 7] = match tokens[tokens.len() - 1] {
        5 => [0.4, 0.01, 0.3, 0.27, 0.005, 0.005, 0.01], // the prompt
        0 => [0.03, 0.9, 0.01, 0.01, 0.02, 0.01, 0.02],
        2 | 3 => [0.01, 0.01, 0.01, 0.01, 0.94, 0.01, 0.01],
        _ => [0.02, 0.02, 0.02, 0.02, 0.01, 0.01, 0.9],
    };
    likely.iter().map(|p| p.ln() + 2.0).collect()
}

struct Answer {
    text: String,
    logprob: f64,
    vote: String,
}

fn request(config: &str) -> Request {
    Request::new()
        .config(config)
        .pieces(&PIECES)
        .end()
        .prompt(&[5])
        .max_tokens(8)
        .context_size(64)
        .sampling(r#"{"temperature":1}"#)
        .says(sums)
}

/// Runs the plugin once: what it shows, and all that it has drawn.
fn answers(config: &str, seed: u64) -> (String, Vec<Answer>) {
    let mut session = Session::<BestOf>::open(request(config).seed(seed));
    let shown = session.run().unwrap();
    assert!(shown.iter().all(|s| s.logprob.is_some()));
    let output = json::parse(&session.outputs()[0]).unwrap();
    let answer = |a: &Value| Answer { text: a.read("text").unwrap(), logprob: a.read("logprob").unwrap(), vote: a.read("vote").unwrap() };
    let all = output.get("answers").and_then(Value::items).unwrap().iter().map(answer).collect();
    (shown.iter().map(|s| PIECES[s.token as usize]).collect(), all)
}

#[test]
fn best_of_shows_the_likeliest() {
    for config in [r#"{"n":5}"#, r#"{"n":5,"vote":"never"}"#] {
        let mut differ = 0;
        for seed in 0..20 {
            let (text, all) = answers(config, seed);
            let best = all.iter().map(|a| a.logprob).fold(f64::NEG_INFINITY, f64::max);
            assert!(all.len() == 5 && all.iter().any(|a| a.text == text && a.logprob == best), "seed {}: it shows {:?}", seed, text);
            differ += all.iter().filter(|a| a.text != all[0].text).count();
        }
        assert!(differ > 20, "only {} of 80 answers differ from the first", differ);
    }
}

/// The most votes win, though the likeliest single answer mostly says otherwise. The seeds are
/// fixed, and so are the counts.
#[test]
fn best_of_counts_votes() {
    let (mut fours, mut likeliest) = (0, 0);
    for seed in 0..20 {
        let (text, all) = answers(r#"{"n":16,"vote":"([0-9])\\s*$"}"#, seed);
        let mut votes = HashMap::<&str, usize>::new();
        all.iter().filter(|a| !a.vote.is_empty()).for_each(|a| *votes.entry(&a.vote).or_default() += 1);
        let won = &text[text.len() - 1..];
        assert_eq!(votes.get(won), votes.values().max(), "seed {}: {:?} won", seed, text);
        fours += text.ends_with('4') as usize;
        likeliest += answers(r#"{"n":16}"#, seed).0.ends_with('4') as usize;
    }
    assert!(fours > 10 && likeliest < 5, "of 20 times 4 won {}, and was the likeliest {}", fours, likeliest);
}

#[test]
fn best_of_refuses_a_bad_expression() {
    let refused = Session::<BestOf>::try_open(request(r#"{"vote":"("}"#)).err().unwrap();
    assert_eq!(refused, "config.vote: a ( is not closed");
}

// SPDX-License-Identifier: MIT

use beam_rust::Beam;
use penstock::testing::{Request, Session};
use penstock::{json, Token};

/// A model of five tokens, of which 4 ends the answer. The likely first token leads to unlikely
/// ones: a greedy answer is not the most likely one.
fn garden(tokens: &[Token]) -> Vec<f32> {
    let likely: [f32; 5] = match tokens[tokens.len() - 1] {
        3 => [0.6, 0.37, 0.01, 0.01, 0.01], // the prompt
        0 => [0.2, 0.2, 0.2, 0.1, 0.3],
        1 => [0.01, 0.01, 0.96, 0.01, 0.01],
        _ => [0.03, 0.03, 0.03, 0.01, 0.9],
    };
    likely.iter().map(|p| p.ln() + 3.0).collect() // logits are log-probabilities but for a constant
}

fn request(config: &str, most: usize) -> Request {
    Request::new().config(config).pieces(&["a", "b", "c", "go"]).end().prompt(&[3]).max_tokens(most).context_size(64).says(garden)
}

#[test]
fn beam_finds_what_greedy_does_not() {
    for (config, most, want) in [
        (r#"{"width":1}"#, 8, vec![0]),
        (r#"{"width":2}"#, 8, vec![1, 2]),
        ("{}", 8, vec![1, 2]),
        (r#"{"length_penalty":0}"#, 8, vec![1, 2]),
        (r#"{"width":3}"#, 1, vec![0]),
    ] {
        let shown = Session::<Beam>::open(request(config, most)).run().unwrap();
        assert_eq!(shown.iter().map(|s| s.token).collect::<Vec<_>>(), want, "{}", config);
    }
}

#[test]
fn beam_gives_the_best_ones_as_choices_and_as_output() {
    let mut session = Session::<Beam>::open(request(r#"{"width":3}"#, 8).choice(0, 2));
    let shown: Vec<_> = session.run().unwrap().iter().map(|s| (s.choice, s.token)).collect();
    let output = json::parse(&session.outputs()[0]).unwrap();
    let beams = output.get("beams").and_then(json::Value::items).unwrap();
    assert_eq!(beams.len(), 3);
    assert_eq!(beams[0].get("text").and_then(json::Value::text), Some("bc"));
    let score = beams[0].get("score").and_then(json::Value::number).unwrap();
    assert!((score - (0.37f64 * 0.96 * 0.9).ln() / 3.0).abs() < 1e-5, "{}", score);
    assert_eq!(shown[..2], [(0, 1), (0, 2)]);
    assert!(shown.iter().any(|(choice, _)| *choice == 1));
}

#[test]
fn beam_computes_a_token_for_each_continuation_and_step() {
    let mut session = Session::<Beam>::open(request(r#"{"width":4,"length_penalty":-1}"#, 12));
    session.run().unwrap();
    assert!((4..=4 * 12).contains(&session.computed()), "{} rows were computed", session.computed());
}

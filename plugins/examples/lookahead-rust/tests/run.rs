// SPDX-License-Identifier: MIT

use lookahead_rust::Lookahead;
use penstock::testing::{Request, Session};
use penstock::Token;

/// A model of five tokens, of which 4 ends the answer. After the prompt it is unsure, and what it
/// likes a little more leads to less likely tokens.
fn garden(tokens: &[Token]) -> Vec<f32> {
    let likely: [f32; 5] = match tokens[tokens.len() - 1] {
        3 => [0.48, 0.46, 0.02, 0.02, 0.02], // the prompt
        0 => [0.6, 0.1, 0.1, 0.1, 0.1],
        1 => [0.01, 0.01, 0.96, 0.01, 0.01],
        _ => [0.01, 0.01, 0.01, 0.01, 0.96],
    };
    likely.iter().map(|p| p.ln()).collect()
}

fn said(config: &str) -> (Vec<Token>, String) {
    let request = Request::new().config(config).pieces(&["a", "b", "c", "go"]).end();
    let mut session = Session::<Lookahead>::open(request.prompt(&[3]).max_tokens(4).context_size(64).says(garden));
    let shown = session.run().unwrap().iter().map(|s| s.token).collect();
    (shown, session.outputs()[0].clone())
}

#[test]
fn lookahead_sees_where_tokens_lead() {
    assert_eq!(said(r#"{"width":2,"tokens":3,"entropy":0.5}"#), (vec![1, 2], r#"{"looks":1}"#.to_string()));
}

#[test]
fn lookahead_is_greedy_where_the_model_is_sure() {
    assert_eq!(said(r#"{"entropy":20}"#), (vec![0, 0, 0, 0], r#"{"looks":0}"#.to_string()));
}

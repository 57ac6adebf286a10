// SPDX-License-Identifier: MIT

use choice_rust::Choice;
use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::Token;

const PIECES: [&str; 5] = ["", "a", "b", "c", "go"];

/// A model of five tokens that begins with a more often than with b, but is sure how b goes on.
fn likes(tokens: &[Token]) -> Vec<f32> {
    let likely: [f32; 5] = match tokens[tokens.len() - 1] {
        4 => [0.05, 0.6, 0.3, 0.025, 0.025], // the prompt
        2 => [0.02, 0.02, 0.02, 0.92, 0.02],
        3 => [0.5, 0.1, 0.1, 0.2, 0.1],
        _ => [0.2; 5],
    };
    likely.iter().map(|p| p.ln() - 1.0).collect()
}

fn request(config: &str) -> Request {
    Request::new().config(config).pieces(&PIECES).prompt(&[4]).max_tokens(16).context_size(64).says(likes)
}

#[test]
fn choice_shows_the_likeliest() {
    for (config, want) in [
        (r#"{"choices":["ac","bc"]}"#, "bc"),
        (r#"{"choices":["bcc","a"]}"#, "a"),
        (r#"{"choices":["bcc","ac"],"normalize":"tokens"}"#, "bcc"),
        (r#"{"choices":["bcc","ac"],"normalize":"bytes"}"#, "bcc"),
        (r#"{"choices":["ab","aa","cb","ca","bb","ba","bc","cc"]}"#, "bc"),
        (r#"{"choices":["aab","aba","aac"]}"#, "aab"), // the first of equals
    ] {
        let shown = Session::<Choice>::open(request(config)).run().unwrap();
        let text: String = shown.iter().map(|s| PIECES[s.token as usize]).collect();
        assert_eq!(text, want, "{}", config);
    }
}

#[test]
fn choice_gives_all_scores() {
    let mut session = Session::<Choice>::open(request(r#"{"choices":["bcc","a"],"normalize":"tokens"}"#));
    session.run().unwrap();
    let output = json::parse(&session.outputs()[0]).unwrap();
    let first = &output.get("choices").and_then(Value::items).unwrap()[0];
    let (sum, score) = (first.read::<f64>("logprob").unwrap(), first.read::<f64>("score").unwrap());
    let want = (0.3f64 * 0.92 * 0.2).ln();
    assert!((sum - want).abs() < 1e-5 && (score - want / 3.0).abs() < 1e-5, "{}", first);
    assert_eq!((first.get("text").and_then(Value::text), first.read::<u32>("tokens")), (Some("bcc"), Ok(3)));
}

#[test]
fn choice_refuses_what_the_model_cannot_write() {
    let refused = Session::<Choice>::try_open(request(r#"{"choices":["a","z"]}"#)).err().unwrap();
    assert_eq!(refused, "choices: the model has no tokens for z");
}

// SPDX-License-Identifier: MIT

use heal_rust::Heal;
use penstock::testing::{Request, Session};
use penstock::{Token, MEDIA_TOKEN};

const PIECES: [&str; 8] = ["<s>", "a", " fro", " frog", "g", " s", "s", ","];

/// A model that likes " frog" after "a", and "," after it. It has never seen " fro" before "g".
fn says(tokens: &[Token]) -> Vec<f32> {
    let next = match tokens[tokens.len() - 1] {
        1 => 3,
        3 => 7,
        7 => 1,
        _ => 6,
    };
    (0..9).map(|t| if t == next { 5.0 } else { 0.0 }).collect()
}

fn said(prompt: &[Token], config: &str) -> String {
    let request = Request::new().config(config).token(b"", 1).pieces(&PIECES[1..]).end();
    let request = request.sampling(r#"{"temperature":0}"#).prompt(prompt).max_tokens(3).context_size(32).says(says);
    let shown = Session::<Heal>::open(request).run().unwrap();
    shown.iter().map(|s| PIECES[s.token as usize]).collect()
}

/// The text is " fro" and what the model writes: "g", which completes " frog", and what follows
/// that.
#[test]
fn heal_writes_the_rest_of_the_word() {
    assert_eq!(said(&[0, 1, 2], "{}"), "g,a");
}

/// After a picture nothing is said, so a token stays there.
#[test]
fn heal_stops_at_a_picture() {
    assert_eq!(said(&[0, MEDIA_TOKEN, 2], "{}"), "sss");
}

#[test]
fn heal_leaves_a_whole_word_as_it_is() {
    assert_eq!(said(&[0, 1, 3], "{}"), ",a frog");
}

/// Nothing is taken back behind a control token, and no more than is wanted.
#[test]
fn heal_takes_back_no_more_than_it_may() {
    assert_eq!(said(&[0, 1], "{}"), " frog,a");
    assert_eq!(said(&[0, 1, 2, 4], r#"{"tokens":1}"#), "sss");
}

// SPDX-License-Identifier: MIT

use penstock::testing::{Request, Session};
use penstock::{Choice, Token};
use watermark::Watermark;

/// A request with a prompt of one token, of so many.
fn open(config: &str, previous: Token, tokens: usize) -> Session<Watermark> {
    Session::open(Request::new().config(config).pieces(&vec![""; tokens]).prompt(&[previous]))
}

/// Which of 4,000 tokens get the bonus after a token.
fn green(config: &str, previous: Token) -> Vec<bool> {
    let mut row = vec![0.0; 4_000];
    open(config, previous, row.len()).sample_row(&mut row);
    row.iter().map(|x| *x > 0.0).collect()
}

#[test]
fn watermark_adds_the_bonus_to_green_tokens_only() {
    let mut session = open(r#"{"key":42,"bonus":1.5}"#, 17, 1_000);
    let mut row = vec![0.25; 1_000];
    row[7] = f32::NEG_INFINITY;
    assert_eq!(session.sample_row(&mut row), Choice::Edited);
    for (token, logit) in row.iter().enumerate().filter(|(t, _)| *t != 7) {
        assert_eq!(*logit, if session.plugin().green(17, token as u32) { 1.75 } else { 0.25 });
    }
    assert_eq!(row[7], f32::NEG_INFINITY);
}

#[test]
fn watermark_has_the_share_that_is_asked_for() {
    for (config, share) in [(r#"{"key":1}"#, 0.5), (r#"{"key":1,"share":0.25}"#, 0.25), (r#"{"key":9,"share":0.9}"#, 0.9)] {
        for previous in [0, 1, 500, 3_999] {
            let got = green(config, previous).iter().filter(|g| **g).count() as f64 / 4_000.0;
            assert!((got - share).abs() < 0.02, "{} after {}: {}", config, previous, got);
        }
    }
}

#[test]
fn watermark_differs_by_key_and_previous_token() {
    let (one, two) = (r#"{"key":1}"#, r#"{"key":2}"#);
    assert_ne!(green(one, 5), green(two, 5));
    assert_ne!(green(one, 5), green(one, 6));
    assert_eq!(green(one, 5), green(one, 5));
}

// SPDX-License-Identifier: MIT

use penstock::testing::Host;
use penstock::{json, Plugin, Request, RowSampler};
use watermark::Watermark;

fn open(config: &str) -> Watermark {
    Watermark::open(&Request::with_config(json::parse(config).unwrap())).unwrap()
}

#[test]
fn watermark_adds_the_bonus_to_green_tokens_only() {
    Host { history: vec![3, 17], ..Host::default() }.install();
    let mut plugin = open(r#"{"key":42,"bonus":1.5}"#);
    let mut row = vec![0.25; 1000];
    row[7] = f32::NEG_INFINITY;
    plugin.sample(&mut row);
    for (token, logit) in row.iter().enumerate().filter(|(t, _)| *t != 7) {
        assert_eq!(*logit, if plugin.green(17, token as u32) { 1.75 } else { 0.25 });
    }
    assert_eq!(row[7], f32::NEG_INFINITY);
}

#[test]
fn watermark_has_the_share_that_is_asked_for() {
    for (config, share) in [(r#"{"key":1}"#, 0.5), (r#"{"key":1,"share":0.25}"#, 0.25), (r#"{"key":9,"share":0.9}"#, 0.9)] {
        let plugin = open(config);
        for previous in [0, 1, 500, 128_255] {
            let green = (0..50_000).filter(|t| plugin.green(previous, *t)).count() as f64 / 50_000.0;
            assert!((green - share).abs() < 0.02, "{} after {}: {}", config, previous, green);
        }
    }
}

#[test]
fn watermark_differs_by_key_and_previous_token() {
    let list = |key: u32, previous| -> Vec<bool> {
        let plugin = open(&format!(r#"{{"key":{}}}"#, key));
        (0..256).map(|t| plugin.green(previous, t)).collect()
    };
    assert_ne!(list(1, 5), list(2, 5));
    assert_ne!(list(1, 5), list(1, 6));
    assert_eq!(list(1, 5), list(1, 5));
}

// SPDX-License-Identifier: MIT

use min_p_rust::MinP;
use penstock::{json, Candidates, Choice, Plugin, Request, Sampler};

fn left(config: &str, logits: &[f32]) -> Vec<f32> {
    let mut plugin = MinP::open(&Request::with_config(json::parse(config).unwrap())).unwrap();
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    let mut logits = logits.to_vec();
    assert_eq!(plugin.sample(&mut Candidates::new(&mut ids, &mut logits)), Choice::Edited);
    logits
}

#[test]
fn min_p_keeps_what_is_likely_enough() {
    const OUT: f32 = f32::NEG_INFINITY;
    // e^-1 = 0.37 and e^-3 = 0.05 times as likely as the best.
    let row = [2.0, 1.0, -1.1, OUT];
    assert_eq!(left(r#"{"min_p":0.3}"#, &row), [2.0, 1.0, OUT, OUT]);
    assert_eq!(left("{}", &row), [2.0, 1.0, OUT, OUT]);
    assert_eq!(left(r#"{"min_p":0.04}"#, &row), [2.0, 1.0, -1.1, OUT]);
    assert_eq!(left(r#"{"min_p":1}"#, &row), [2.0, OUT, OUT, OUT]);
    assert_eq!(left(r#"{"min_p":0}"#, &row), row);
}

// SPDX-License-Identifier: MIT

use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::{Choice, Token};
use watermark::keyed::Key;
use watermark::Watermark;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// A request for an answer with contexts of two tokens, to a prompt of one.
fn open(key: &str, config: &str) -> Session<Watermark> {
    Session::open(request(&format!(r#"{{"key":"{}","context":2{}}}"#, key, config), 1000))
}

/// One with a vocabulary of so many tokens.
fn request(config: &str, tokens: usize) -> Request {
    Request::new().config(config).pieces(&vec![""; tokens]).prompt(&[7])
}

fn likeliest(ids: &[Token], logits: &[f32]) -> Token {
    let best = (0..ids.len()).max_by(|a, b| logits[*a].partial_cmp(&logits[*b]).unwrap());
    ids[best.unwrap()]
}

/// The numbers of tokens after a context of two.
fn after(scheme: u32, context: [Token; 2]) -> Key {
    Key::parse(KEY).unwrap().after(&[scheme, 2]).after(&context)
}

/// The package host/watermark has a test of the same numbers.
#[test]
fn key_gives_the_numbers_of_the_detector() {
    let cases = json::parse(include_str!("../testdata/words.json")).unwrap();
    let list = |v: &Value| -> Vec<u32> { v.items().unwrap().iter().map(|x| x.integer().unwrap() as u32).collect() };
    for case in cases.items().unwrap() {
        let start = Key::parse(case.get("key").unwrap().text().unwrap()).unwrap();
        let key = case.get("words").unwrap().items().unwrap().iter().fold(start, |key, words| key.after(&list(words)));
        let first = case.read::<u32>("token").unwrap();
        for (token, number) in (first..).zip(list(case.get("numbers").unwrap())) {
            assert_eq!(key.number(token), number, "{} after {:?}", token, case.get("words"));
        }
        for (token, half) in (first..).zip(list(case.get("halves").unwrap())) {
            assert_eq!(u32::from(key.half(token)), half, "{} after {:?}", token, case.get("words"));
        }
    }
    for wrong in ["", "0001", &"g".repeat(64), &"+1".repeat(32)] {
        assert!(Key::parse(wrong).is_err(), "{}", wrong);
    }
}

#[test]
fn green_gives_the_bonus_to_the_tokens_below_the_threshold() {
    let mut session = open(KEY, r#","scheme":"green","gamma":0.25,"delta":1.5"#);
    assert_eq!(
        session.planned(),
        r#"{"implements":["penstock_open","penstock_plan","penstock_prepare","penstock_accept","penstock_rewind"],"view":"none"}"#
    );
    for first in [3, 5] {
        assert!(session.prepare().bias.is_empty(), "a context of less than two tokens marks");
        session.accept(first);
    }
    let key = after(1, [3, 5]);
    let want: Vec<(Token, f32)> = (0..1000).filter(|t| key.half(*t) < 1 << 14).map(|t| (t, 1.5)).collect();
    let mut got = session.prepare().bias;
    assert!((200..300).contains(&got.len()), "{} of 1000 are green", got.len());
    got.sort_by_key(|(token, _)| *token);
    assert_eq!(got, want);
}

#[test]
fn gumbel_takes_the_winner_of_the_race() {
    let mut session = open(KEY, "");
    assert_eq!(
        session.planned(),
        r#"{"implements":["penstock_open","penstock_plan","penstock_sample","penstock_accept","penstock_rewind"]}"#
    );
    let mut ids: Vec<Token> = (100..150).collect();
    for first in [3, 5] {
        assert_eq!(session.sample(&mut ids, &mut [0.0; 50]), Choice::Keep(50), "the host draws the first tokens");
        session.accept(first);
    }
    // All are as likely, so the highest number wins.
    let key = after(0, [3, 5]);
    let winner = (100..150).max_by_key(|t| key.number(*t)).unwrap();
    let mut logits = [0.0; 50];
    assert_eq!(session.sample(&mut ids, &mut logits), Choice::Edited);
    assert_eq!(likeliest(&ids, &logits), winner);
    // If a grammar does not allow the winner, the second is as far ahead of the third.
    logits[ids.iter().position(|t| *t == winner).unwrap()] = f32::NEG_INFINITY;
    assert_eq!(likeliest(&ids, &logits), (100..150).filter(|t| *t != winner).max_by_key(|t| key.number(*t)).unwrap());
    logits.sort_by(|a, b| b.partial_cmp(a).unwrap());
    assert!(logits.windows(2).all(|w| w[0] - w[1] >= 200.0));
    // One that is much less likely has no chance.
    let (mut ids, mut logits) = ([winner + 1, winner], [0.0, -40.0]);
    session.sample(&mut ids, &mut logits);
    assert_eq!(likeliest(&ids, &logits), winner + 1);
    assert_eq!(session.sample(&mut [winner], &mut [0.0]), Choice::Keep(1), "there is nothing to choose");
}

#[test]
fn watermark_marks_a_context_once() {
    let mut session = open(KEY, "");
    let mut marks = |tokens: &[Token]| {
        tokens.iter().for_each(|t| drop(session.accept(*t)));
        session.sample(&mut [1, 2], &mut [0.0; 2]) != Choice::Keep(2)
    };
    assert!(marks(&[1, 2]));
    assert!(marks(&[1])); // after 2, 1
    assert!(!marks(&[2]), "after 1, 2 again");
    assert!(marks(&[2]));
    session.rewind(1 + 2); // to 1, 2
    assert_ne!(session.sample(&mut [1, 2], &mut [0.0; 2]), Choice::Keep(2), "what was taken back still counts");
    session.accept(1);
    session.accept(2);
    assert_eq!(session.sample(&mut [1, 2], &mut [0.0; 2]), Choice::Keep(2), "what was left does not count");
}

/// Over random keys, tokens come as often as the model has them: Pearson's test of 4,000 draws.
#[test]
fn gumbel_draws_with_the_models_probabilities() {
    const SHARES: [f64; 6] = [0.4, 0.3, 0.2, 0.07, 0.02, 0.01];
    const DRAWS: usize = 4_000;
    let mut counts = [0usize; 6];
    for seed in 0..DRAWS as u32 {
        // As many keys, each the numbers that another gives.
        let random = Key::parse(KEY).unwrap().after(&[seed]);
        let key: String = (0..8).map(|i| format!("{:08x}", random.number(i))).collect();
        let config = format!(r#"{{"key":"{}","context":2}}"#, key);
        let mut session = Session::<Watermark>::open(request(&config, 61));
        session.accept(3);
        session.accept(5);
        let mut logits: Vec<f32> = SHARES.iter().map(|p| p.ln() as f32).collect();
        let mut ids = [10, 20, 30, 40, 50, 60];
        assert_eq!(session.sample(&mut ids, &mut logits), Choice::Edited);
        counts[likeliest(&ids, &logits) as usize / 10 - 1] += 1;
    }
    let expected = |p: f64| p * DRAWS as f64;
    let sum: f64 = counts.iter().zip(&SHARES).map(|(n, p)| (*n as f64 - expected(*p)).powi(2) / expected(*p)).sum();
    assert!(sum < 20.5, "chi-square of {:?} is {}; with 5 degrees of freedom 20.5 is passed once in 1,000 sets of keys", counts, sum);
}

#[test]
fn watermark_refuses_what_it_cannot_mark() {
    let with = |config: &str, sampling: &str| {
        let config = format!(r#"{{"key":"{}"{}}}"#, KEY, config);
        Session::<Watermark>::try_open(request(&config, 10).sampling(sampling)).err().unwrap_or_default()
    };
    let greedy = r#"{"temperature":0}"#;
    assert!(with("", greedy).starts_with("temperature is 0"), "{}", with("", greedy));
    assert_eq!(with(r#","greedy":"pass""#, greedy), "");
    assert_eq!(with(r#","scheme":"green""#, greedy), "");
    let early = r#"{"temperature":1,"samplers":["top_k","plugin:watermark","temperature"]}"#;
    assert!(with("", early).contains("temperature is after it"), "{}", with("", early));
    assert_eq!(with(r#","scheme":"green""#, early), "");
    assert_eq!(with("", r#"{"temperature":1,"samplers":["temperature","plugin:watermark"]}"#), "");
    let large = request(&format!(r#"{{"key":"{}","scheme":"green","gamma":0.5}}"#, KEY), 400_000);
    assert!(
        Session::<Watermark>::try_open(large).err().unwrap_or_default().starts_with("gamma"),
        "more green tokens than there is room for"
    );
}

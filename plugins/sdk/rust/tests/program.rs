// SPDX-License-Identifier: MIT

//! Programs in a session: what their calls answer, and where they would end the request. The model
//! says that the token after t is most likely t + 1, and never 0.

use penstock::testing::{Adopted, Request, Session, Shown};
use penstock::{host, BranchError, Chain, Manifest, Plugin, Run, State, Token};
use std::panic::{catch_unwind, AssertUnwindSafe};

const PROMPT: [Token; 2] = [1, 2];

/// What a test has the plugin do.
type Deed = fn(&Run) -> Result<(), String>;

std::thread_local! {
    static DEED: std::cell::Cell<Deed> = const { std::cell::Cell::new(nothing) };
}

fn nothing(_: &Run) -> Result<(), String> {
    Ok(())
}

struct Doer;

#[penstock::export]
impl Plugin for Doer {
    const MANIFEST: Manifest = Manifest {
        name: "doer",
        branches: 3,
        branches_config: "n",
        config_schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        Ok(Doer)
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        DEED.with(|d| d.get())(run)
    }
}

/// Logits of five tokens.
fn next(tokens: &[Token]) -> Vec<f32> {
    let last = tokens[tokens.len() - 1];
    (0..5).map(|t| if t == 0 { f32::NEG_INFINITY } else { -((t as f32) - (last + 1) as f32).abs() }).collect()
}

fn request() -> Request {
    Request::new().pieces(&["", "a", "b", "c", "d"]).prompt(&PROMPT).max_tokens(8).context_size(16).says(next)
}

fn session(request: Request, deed: Deed) -> Session<Doer> {
    DEED.with(|d| d.set(deed));
    Session::open(request)
}

fn run(deed: Deed) -> (Result<Vec<Shown>, String>, usize) {
    let mut s = session(request(), deed);
    (s.run(), s.computed())
}

#[test]
fn branches_have_tokens_and_what_the_model_says() {
    let (shown, computed) = run(|run| {
        let root = run.prompt()?;
        assert_eq!((root.len(), root.tokens(0), root.tokens(1), root.tokens(9)), (2, vec![1, 2], vec![2], vec![]));
        let mut other = root.fork()?;
        run.wait(2, [&root, &other])?;
        // Logits −∞, −2, −1, 0, −1 after token 2.
        let sum = (1.0 + 2.0 * (-1f32).exp() + (-2f32).exp()).ln();
        let best = root.best(9);
        assert_eq!(best.iter().map(|(t, _)| *t).collect::<Vec<_>>(), [3, 2, 4, 1]);
        for ((_, log), want) in best.iter().zip([0.0, -1.0, -1.0, -2.0]) {
            assert!((log - (want - sum)).abs() < 1e-6, "{} is not {}", log, want - sum);
        }
        assert_eq!((root.best(1), root.best(0), root.logits()), (best[..1].to_vec(), vec![], next(&PROMPT)));
        let entropy: f32 = best.iter().map(|(_, log)| -log * log.exp()).sum();
        assert!((root.entropy() - entropy).abs() < 1e-6 && (root.log_sum() - sum).abs() < 1e-6);
        other.append_scored(&[3, 1])?;
        run.wait(0, [&other])?;
        let scores = other.scores(1);
        assert!(scores[0].is_nan() && (scores[1] + sum).abs() < 1e-6 && scores[2] < -3.0, "{:?}", scores);
        other.cut(3);
        assert_eq!((other.tokens(0), other.scores(2)), (vec![1, 2, 3], vec![scores[1]]));
        run.show(&[3]);
        run.show_scored(&other.tokens(2), &other.scores(2));
        Ok(())
    });
    let shown = shown.unwrap();
    assert_eq!(shown.iter().map(|s| s.token).collect::<Vec<_>>(), [3, 3]);
    assert!(shown[0].logprob.is_none() && shown[1].logprob.unwrap() < 0.0);
    assert_eq!(computed, 3);
}

#[test]
fn wait_any_tells_the_places_of_those_that_are_ready() {
    let (shown, _) = run(|run| {
        let all = [run.open(&[1])?, run.open(&[2])?];
        assert_eq!(run.wait_any(1, &all)?, [0, 1]);
        assert_eq!((all[0].best(1)[0].0, all[1].best(1)[0].0), (2, 3));
        run.wait(0, [])?;
        Ok(())
    });
    assert_eq!(shown, Ok(vec![]));
}

#[test]
fn a_dropped_branch_makes_room_for_another() {
    let (shown, _) = run(|run| {
        let mut all = vec![run.prompt()?, run.prompt()?, run.prompt()?];
        assert_eq!(all[0].fork().unwrap_err(), BranchError::NoneFree);
        all.pop();
        all.push(all[0].fork()?);
        assert_eq!(run.open(&[1]).unwrap_err(), BranchError::NoneFree);
        Ok(())
    });
    assert_eq!(shown, Ok(vec![]));
    let mut one = session(request().config(r#"{"n":1}"#), |run| {
        let root = run.prompt()?;
        root.fork().map(|_| ()).map_err(String::from)
    });
    assert_eq!(one.run().unwrap_err(), "no branch is free: the plugin's manifest says how many there may be");
}

#[test]
fn what_does_not_fit_is_not_added() {
    let (shown, _) = run(|run| {
        assert_eq!(run.max_tokens(), 8);
        let mut root = run.prompt()?;
        assert_eq!(root.append(&[1; 14]), Err(BranchError::ContextFull));
        assert_eq!(root.len(), 2);
        // The prompt, and three times that, max_tokens and 256.
        for _ in 0..61 {
            root.append(&[1; 13])?;
            root.cut(2);
        }
        assert_eq!(root.append(&[1; 13]), Err(BranchError::Budget));
        Err("enough".to_string())
    });
    assert_eq!(shown, Err("enough".to_string()));
}

#[test]
fn rows_are_masked_and_mixed_until_tokens_are_appended() {
    let (shown, _) = run(|run| {
        let (mut a, b) = (run.prompt()?, run.open(&[3])?);
        run.wait(1, [&a, &b])?;
        let before = a.log_sum();
        a.mask(|mask| [1, 3].iter().for_each(|t| mask.allow(*t)));
        let (best, sum) = (a.best(4), (-2f32).exp().ln_1p());
        assert_eq!(best.iter().map(|(t, _)| *t).collect::<Vec<_>>(), [3, 1]);
        assert!((best[0].1 + sum).abs() < 1e-6 && a.log_sum() < before);
        b.mix(&[(&b, 1.5), (&a, -0.5), (&a, 0.0)]);
        // −∞, −3, −2, −1, 0 and −∞, −2, −∞, 0, −∞.
        assert_eq!(b.logits(), [f32::NEG_INFINITY, -3.5, f32::NEG_INFINITY, -1.5, f32::NEG_INFINITY]);
        let greedy = run.chain(r#"{"temperature":0}"#)?;
        assert_eq!((a.sample(&greedy), b.sample(&greedy)), (Ok(3), Ok(3)));
        b.mask(|_| {});
        assert_eq!(b.sample(&Chain::REQUEST), Err(BranchError::NoToken));
        a.append(&[2])?;
        a.set_grammar(None)?;
        run.wait(0, [&a])?;
        assert_eq!(a.best(4).len(), 4);
        let refused = run.chain(r#"{"temperature":-1}"#).unwrap_err();
        assert!(refused.to_string().starts_with("temperature"), "{}", refused);
        Ok(())
    });
    assert_eq!(shown, Ok(vec![]));
}

#[test]
fn branches_run_by_themselves_and_are_adopted() {
    // The token after 4 is most likely 5, which ends.
    let says = |tokens: &[Token]| (0..6).map(|t| -((t as f32) - (tokens[tokens.len() - 1] + 1) as f32).abs()).collect();
    let request = request().end().choice(0, 2).sampling(r#"{"temperature":0}"#).says(says).template(|text| match text {
        "[]" => Ok(vec![2, 2]),
        _ => Err("messages must be a list".to_string()),
    });
    let mut session = session(request, |run| {
        let (mut b, mut short) = (run.open_messages("[]")?, run.prompt()?);
        b.run_scored(&Chain::REQUEST, 10)?;
        short.run(&Chain::REQUEST, 1)?;
        assert_eq!((b.state(), run.choices()), (State::Running, 2));
        run.wait(0, [&b, &short])?;
        assert_eq!((b.tokens(0), b.state(), b.scores(2).len()), (vec![2, 2, 3, 4], State::Ended, 2));
        assert!(b.scores(2)[0] < 0.0);
        assert_eq!((short.tokens(0), short.state()), (vec![1, 2, 3], State::Ran));
        assert!(run.show_choice(0, &[4], None) && run.show_choice(1, &[3], None));
        run.adopt(1, &short, 2);
        assert_eq!(run.open_messages("{}").unwrap_err(), BranchError::Refused("messages must be a list".to_string()));
        Ok(())
    });
    let shown: Vec<(usize, Token)> = session.run().unwrap().iter().map(|s| (s.choice, s.token)).collect();
    assert_eq!(shown, [(0, 4), (1, 3)]);
    assert_eq!(session.adopted(), [Adopted { choice: 1, tokens: vec![1, 2, 3], from: 2 }]);
}

/// What a branch draws depends on the seed and on which branch it is, and is as likely as the
/// chain says.
#[test]
fn draws_follow_the_seed_and_the_branch() {
    fn draw(run: &Run) -> Result<(), String> {
        let (a, b, hot) = (run.prompt()?, run.prompt()?, run.chain(r#"{"temperature":5,"top_k":3}"#)?);
        run.wait(0, [&a, &b])?;
        for branch in [&a, &b] {
            (0..300).try_for_each(|_| branch.sample(&hot).map(|t| run.show(&[t])))?;
        }
        Ok(())
    }
    let drawn = |seed| session(request().seed(seed), draw).run().unwrap().iter().map(|s| s.token).collect::<Vec<_>>();
    let first = drawn(7);
    assert!(first == drawn(7) && first != drawn(8) && first[..300] != first[300..]);
    // Of the three likeliest, 3 with the logit 0 and 2 and 4 with −1, at temperature 5: 0.379, and
    // 0.310 each.
    let counts = [1, 2, 3, 4].map(|t| first.iter().filter(|x| **x == t).count());
    assert!(counts[0] == 0 && counts[1..].iter().zip([186, 228, 186]).all(|(n, want)| n.abs_diff(want) < 60), "{:?}", counts);
}

#[test]
fn select_forks_what_is_named_twice_and_drops_what_is_not() {
    let (shown, _) = run(|run| {
        let all = run.select(vec![run.open(&[1])?, run.open(&[2])?, run.open(&[3])?], &[2, 0, 2])?;
        assert_eq!(all.iter().map(|b| b.tokens(0)[0]).collect::<Vec<_>>(), [3, 1, 3]);
        Ok(())
    });
    assert_eq!(shown, Ok(vec![]));
}

/// Else a program could have the model compute for ever.
#[test]
fn rows_without_a_new_token_count_as_tokens() {
    let (shown, computed) = run(|run| {
        let root = run.prompt()?;
        run.wait(0, [&root])?;
        // The prompt, and three times that, max_tokens and 256, of which the prompt is in a branch.
        for _ in 0..798 {
            let mut branch = root.fork()?;
            run.wait(0, [&branch])?; // it has the row of the other
            branch.cut(1);
            run.wait(0, [&branch])?;
        }
        let mut branch = root.fork()?;
        branch.cut(1);
        assert_eq!(run.wait(0, [&branch]), Err(BranchError::Budget));
        Ok(())
    });
    assert_eq!((shown, computed), (Ok(vec![]), 799));
}

/// Text of tokens, and tokens of text, whatever the tokenizer would make of it.
#[test]
fn vocabulary_spells_what_tokens_say() {
    let (shown, _) = run(|_| {
        let words = penstock::Vocabulary::read();
        assert_eq!((words.spell(b"abd"), words.spell(b"ax"), words.spell(b"")), (vec![1, 2, 4], vec![1], vec![]));
        assert_eq!(host::text_of(&[1, 0, 3, 4]), "acd");
        Ok(())
    });
    assert_eq!(shown, Ok(vec![]));
}

/// As on the host, each wait begins a position of random numbers.
#[test]
fn random_numbers_are_those_of_the_host() {
    let (shown, _) = run(|run| {
        let first = host::random();
        run.wait(0, [])?;
        let drawn = [first, host::random(), host::random()];
        let positions = [(2, 0), ((1 << 32) + 1, 0), ((1 << 32) + 1, 1)];
        assert_eq!(drawn, positions.map(|(position, before)| penstock::abi::draw(0, 0, position, before)));
        Ok(())
    });
    assert_eq!(shown, Ok(vec![]));
}

#[test]
fn a_program_needs_a_host_that_runs_some() {
    let reason = session(request().without("branches"), nothing).run().unwrap_err();
    assert!(reason.contains("newer one"), "{}", reason);
}

#[test]
fn what_the_host_would_end_the_request_for_ends_the_test() {
    let wrong: [(&str, Deed); 9] = [
        ("no row", |run| Ok(drop(run.prompt()?.best(1)))),
        ("to be computed", |run| {
            let mut b = run.prompt()?;
            b.append_scored(&[1])?;
            Ok(drop(b.scores(0)))
        }),
        ("token 5", |run| Ok(run.show(&[5]))),
        ("log-probability", |run| Ok(run.show_scored(&[1], &[0.5]))),
        ("is cut to 0", |run| Ok(run.prompt()?.cut(0))),
        ("goes on by itself", |run| {
            let mut b = run.prompt()?;
            b.run(&Chain::REQUEST, 1)?;
            Ok(drop(b.tokens(0)))
        }),
        ("choice 1; there are 1", |run| Ok(drop(run.show_choice(1, &[1], None)))),
        ("does not begin with", |run| {
            run.show(&[3]);
            Ok(run.adopt(0, &run.prompt()?, 2))
        }),
        ("4097 candidates", |run| Ok(run.wait(4097, [])?)),
    ];
    for (want, deed) in wrong {
        let failed = catch_unwind(AssertUnwindSafe(|| run(deed))).unwrap_err();
        let said = failed.downcast_ref::<String>().cloned().unwrap_or_else(|| failed.downcast_ref::<&str>().unwrap().to_string());
        assert!(said.contains(want), "{:?} is not in {:?}", want, said);
    }
}

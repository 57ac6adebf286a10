// SPDX-License-Identifier: MIT

//! Sessions with a plugin that has all methods but sample_row and rewind.

use penstock::testing::{Request, Session};
use penstock::{host, table, Accepted, Call, Candidates, Choice, Manifest, Message, Next, Plugin, Table, Token, Verdict, Vocabulary};
use std::cell::Cell;

thread_local! {
    static CLOSED: Cell<usize> = const { Cell::new(0) };
}

/// Answers what its config says.
struct Told {
    keep: usize,
    force: Vec<Token>,
    accepted: Vec<Token>,
    shown: String,
}

/// How many tokens are text.
struct Texts(usize);

#[penstock::export]
impl Plugin for Told {
    const MANIFEST: Manifest = Manifest {
        name: "told",
        hold: 2,
        splice: 3,
        config_schema: r#"{"properties":{"keep":{"default":2},"force":{"default":[]},"refuse":{}}}"#,
        ..Manifest::DEFAULT
    };

    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        let texts = (0..vocabulary.len() as Token).filter(|t| vocabulary.is_text(*t)).count();
        if texts == 0 {
            return Err("no token is text".to_string());
        }
        Ok(Box::new(Texts(texts)))
    }

    fn open(request: &penstock::Request) -> Result<Self, String> {
        let config = &request.config;
        if let Some(reason) = config.read("refuse")? {
            return Err(reason);
        }
        let texts: &Texts = table();
        penstock::log!("{} texts", texts.0);
        host::output(r#"{"opened":true}"#)?;
        Ok(Told { keep: config.read("keep")?, force: config.read("force")?, accepted: Vec::new(), shown: String::new() })
    }

    fn sample(&mut self, _: &mut Candidates) -> Choice {
        Choice::Keep(self.keep)
    }

    fn prepare(&mut self, next: &mut Next) {
        next.mask().allow(1);
        assert!(next.bias(0, -1.5));
        next.force(&self.force);
    }

    fn accept(&mut self, token: Token) -> Accepted {
        self.accepted.push(token);
        match token {
            3 => Accepted::Splice { backtrack: 2, tokens: vec![1, 1, 1] },
            2 => Accepted::Stop,
            _ => Accepted::Continue,
        }
    }

    fn stop(&mut self, token: Token, text: &str) -> Verdict {
        self.shown += &format!("{}{} ", token, text);
        Verdict::EndAfter(text.len())
    }

    fn render(&mut self, messages: &[Message]) -> Result<String, String> {
        messages.first().map(|m| m.content.clone()).ok_or_else(|| "there is no message".to_string())
    }

    fn close(&mut self) {
        CLOSED.with(|c| c.set(c.get() + 1));
    }
}

fn request() -> Request {
    Request::new().pieces(&["a", "b", "c", "d"]).end().prompt(&[0])
}

#[test]
fn session_open_warms_opens_and_closes() {
    let session = Session::<Told>::open(request());
    assert!(session.logs()[0].ends_with(": 4 texts") && session.logs()[0].contains("session.rs:"), "{:?}", session.logs());
    assert_eq!(session.outputs(), [r#"{"opened":true}"#]);
    drop(session);
    assert_eq!(CLOSED.with(Cell::get), 1);
    assert_eq!(Session::<Told>::try_open(request().config(r#"{"refuse":"not today"}"#)).err().unwrap(), "not today");
    assert_eq!(Session::<Told>::try_open(Request::new()).err().unwrap(), "no token is text");
}

#[test]
fn session_sample_keeps_the_first() {
    let mut logits = [3.0, 2.0, 1.0];
    assert_eq!(Session::<Told>::open(request()).sample(&mut [2, 0, 1], &mut logits), Choice::Keep(2));
    assert_eq!(logits, [3.0, 2.0, f32::NEG_INFINITY]);
}

#[test]
fn session_config_has_defaults() {
    assert_eq!(Session::<Told>::open(request().config(r#"{"force":[1]}"#)).plugin().keep, 2);
}

#[test]
fn session_prepare_gives_what_the_plugin_sets() {
    let mut session = Session::<Told>::open(request().config(r#"{"force":[1,0,1]}"#));
    let prepared = session.prepare();
    assert!(prepared.allowed(1) && !prepared.allowed(0));
    assert_eq!((prepared.mask, prepared.bias, prepared.forced), (Some(vec![2]), vec![(0, -1.5)], vec![1, 0, 1]));
}

#[test]
fn session_accept_splices_and_rewind_begins_anew() {
    let mut session = Session::<Told>::open(request());
    session.accept(0);
    assert_eq!(session.accept(3), Accepted::Splice { backtrack: 2, tokens: vec![1, 1, 1] });
    assert_eq!(session.history(), [0, 1, 1, 1]);
    assert_eq!(session.plugin().accepted, [0, 3, 1, 1, 1]);
    session.rewind(3);
    assert_eq!((session.history(), &session.plugin().accepted[..]), (&[0, 1, 1][..], &[1, 1][..]));
    assert_eq!(session.outputs().len(), 1, "what a replay gives is dropped");
    assert_eq!(session.accept(2), Accepted::Stop);
}

#[test]
fn session_rewind_replays_text_after_the_tokens_that_it_came_with() {
    let mut session = Session::<Told>::open(request());
    session.stop(0, "p");
    for (token, text) in [(0, "a"), (1, "b"), (0, "c"), (1, "d")] {
        session.accept(token);
        session.stop(token, text);
    }
    session.accept(0);
    session.rewind(4);
    assert_eq!((&session.plugin().accepted[..], &session.plugin().shown[..]), (&[0, 1, 0][..], "0p 0a 1b 0c "));
    session.rewind(2);
    assert_eq!((&session.plugin().accepted[..], &session.plugin().shown[..]), (&[0][..], "0p 0a "));
}

#[test]
fn session_stop_and_render() {
    let mut session = Session::<Told>::open(request().messages(r#"[{"role":"user","content":"hi"}]"#));
    assert_eq!(session.stop(0, "frog"), Verdict::EndAfter(4));
    assert_eq!(session.render().unwrap(), "hi");
    assert_eq!(Session::<Told>::open(request().messages("[]")).render().unwrap_err(), "there is no message");
}

/// What a test is told where it, or the plugin, does what the host would not.
fn told<R>(f: impl FnOnce(&mut Session<Told>) -> R + std::panic::UnwindSafe, config: &str) -> String {
    let request = request().config(config);
    let panic = std::panic::catch_unwind(move || {
        f(&mut Session::open(request));
    });
    let panic = panic.unwrap_err();
    panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap()
}

#[test]
fn session_ends_the_test_where_the_host_would_end_the_request() {
    for (said, want) in [
        (told(|s| s.sample(&mut [0, 1], &mut [1.0, 0.5]), r#"{"keep":3}"#), "Keep(3) of 2 candidates"),
        (told(|s| s.sample(&mut [0, 1], &mut [0.5, 1.0]), "{}"), "best first"),
        (told(|s| s.sample(&mut [9, 1], &mut [1.0, 1.0]), "{}"), "the view names token 9; the vocabulary has 5"),
        (told(|s| s.sample_row(&mut [0.0]), "{}"), "no method sample_row"),
        (told(|s| s.prepare(), r#"{"force":[7]}"#), "force names token 7"),
        (told(|s| s.prepare(), r#"{"force":[1,1,1,1]}"#), "4 tokens at once; the manifest's splice has room for 3"),
        (told(|s| s.accept(3), "{}"), "a splice takes 2 tokens back; hold and what was generated allow 1"),
        (told(|s| s.rewind(0), "{}"), "0 tokens cannot be left of 1"),
        (told(|_| (), "{"), "the config is no JSON"),
        (told(|_| (), r#"{"refuse":"not today"}"#), "the plugin refuses the request: not today"),
    ] {
        assert!(said.contains(want), "{:?} must contain {:?}", said, want);
    }
}

/// Declines what its config names.
struct Declines;

#[penstock::export]
impl Plugin for Declines {
    const MANIFEST: Manifest = Manifest { name: "declines", ..Manifest::DEFAULT };

    fn open(request: &penstock::Request) -> Result<Self, String> {
        request.decline(&[Call::Accept, Call::Stop, Call::Rewind, Call::Draft])?;
        Ok(Declines)
    }

    fn sample(&mut self, _: &mut Candidates) -> Choice {
        Choice::Keep(1)
    }

    fn accept(&mut self, _: Token) -> Accepted {
        panic!("it was declined")
    }
}

#[test]
fn session_calls_nothing_that_the_plugin_declined() {
    let mut session = Session::<Declines>::open(Request::new().pieces(&["a", "b"]));
    assert_eq!(session.sample(&mut [0, 1], &mut [1.0, 0.0]), Choice::Keep(1));
    session.accept(0);
    session.rewind(0);
}

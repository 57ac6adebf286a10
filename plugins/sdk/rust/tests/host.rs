// SPDX-License-Identifier: MIT

//! What the stub of the host answers.

use penstock::host::{self, Special};
use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::{abi, Accepted, Manifest, Message, Part, Plugin, Token, Vocabulary};

fn request() -> Request {
    let request = Request::new().token(b"", abi::ATTR_CONTROL).pieces(&["a", "bc", "é", "abc", "\n"]).token(b"\xc3", abi::ATTR_BYTE).end();
    request.special(Special::Newline, 5).prompt(&[4, 1, 3])
}

#[test]
fn the_vocabulary_is_the_requests() {
    request().within(|| {
        assert_eq!((host::vocab_size(), host::piece(4), host::piece(6), host::piece(99)), (8, b"abc".to_vec(), b"\xc3".to_vec(), vec![]));
        let kinds = [Special::Bos, Special::Eos, Special::Eot, Special::Newline];
        assert_eq!(kinds.map(host::special), [None, Some(7), None, Some(5)]);
        assert_eq!([0, 1, 6, 7, 99].map(host::attributes), [1, 0, 4, 3, 0]);
        let words = Vocabulary::read();
        assert_eq!(
            (words.len(), words.piece(3), words.ends(7), words.is_text(7), words.is_text(1)),
            (8, "é".as_bytes(), true, false, true)
        );
        assert_eq!((words.spell(b"abca"), words.spell(b"ax"), words.spell(b"")), (vec![4, 1], vec![1], vec![]));
        assert_eq!(
            (host::tokenize("abca\n", 0), host::tokenize("", 3), host::text_of(&[1, 0, 3, 2])),
            (vec![4, 1, 5], vec![], "aébc".into())
        );
    });
}

#[test]
#[should_panic(expected = "the vocabulary has no pieces for all of \"abx\"")]
fn tokenize_wants_pieces_for_the_text() {
    request().within(|| host::tokenize("abx", 0));
}

#[test]
fn the_history_is_read_from_either_end() {
    request().within(|| {
        assert_eq!((host::history(), host::history_len(), host::last_token()), (vec![4, 1, 3], 3, Some(3)));
        assert_eq!([1, -1, -9, 3, 99].map(host::history_from), [vec![1, 3], vec![3], vec![4, 1, 3], vec![], vec![]]);
    });
    Request::new().within(|| assert_eq!((host::history(), host::last_token()), (vec![], None)));
}

#[test]
fn the_requests_numbers_are_read() {
    let told = request().seed(7).max_tokens(50).context_size(1000).time(1790000000123).choice(1, 3);
    told.sampling(r#"{"top_k":9}"#).model(r#"{"name":"m"}"#).media(r#"[{"type":"image"}]"#).within(|| {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 99].map(host::param), [3, 50, 1000, 7, 1790000000123, 1, 3, -1]);
        assert_eq!((host::sampling().to_string(), host::model().to_string()), (r#"{"top_k":9}"#.into(), r#"{"name":"m"}"#.into()));
        assert_eq!((host::media().len(), host::config(), host::messages()), (1, "{}".into(), "".into()));
        assert_eq!([host::random(), host::random()], [0, 1].map(|before| abi::draw(7, 0, 3, before)));
        assert_eq!((host::part(), host::logprob()), (Part::Unknown, None));
        assert!(host::output("{").is_err() && host::output("[1]").is_ok());
    });
    Request::new().within(|| {
        assert_eq!((host::param(abi::PARAM_TIME), host::param(abi::PARAM_CHOICES), host::sampling().to_string()), (-1, 1, "{}".into()))
    });
}

#[test]
fn an_older_host_lacks_features() {
    assert!(request().within(|| host::feature("text") && host::feature("penstock_rewind") && !host::feature("telepathy")));
    let old = request().without("part").without("request");
    assert!(old.within(|| !host::feature("part") && host::feature("text") && host::sampling() == Value::Null));
}

/// Stops where the state's first number is above 0, and takes a token back where it is below.
#[derive(Default)]
struct Prober {
    state: Vec<f32>,
    texts: Vec<String>, // of the answer, in accept
    parts: Vec<Part>,
}

#[penstock::export]
impl Plugin for Prober {
    const MANIFEST: Manifest = Manifest { name: "prober", hold: 1, splice: 1, ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        let mut prober = Prober::default();
        assert!(!host::hidden_state(&mut prober.state), "there is a state in open");
        Ok(prober)
    }

    fn accept(&mut self, _: Token) -> Accepted {
        self.texts.push(String::from_utf8(host::answer_text(0)).unwrap());
        self.parts.push(host::part());
        match host::hidden_state(&mut self.state).then(|| self.state[0]) {
            Some(x) if x > 0.0 => Accepted::Stop,
            Some(x) if x < 0.0 => Accepted::Splice { backtrack: 1, tokens: vec![3] },
            _ => Accepted::Continue,
        }
    }

    fn rewrite(&mut self, mut messages: Vec<Message>) -> Result<Vec<Message>, String> {
        assert_eq!(host::prompt_text(None)?, format!("<{}>", messages[0].content));
        assert_eq!(json::parse(&host::messages()).unwrap().items().unwrap().len(), 1);
        messages[0].content.push('!');
        messages[0].content = host::prompt_text(Some(&messages))?;
        Ok(messages)
    }
}

#[test]
fn hidden_state_is_that_of_the_token() {
    let mut session = Session::<Prober>::open(request());
    session.hidden_state(&[0.0, 1.0]);
    assert_eq!(session.accept(1), Accepted::Continue);
    session.hidden_state(&[0.5]);
    assert_eq!(session.accept(1), Accepted::Stop);
    session.hidden_state(&[-0.5]); // the token that is spliced has none, and neither has the one after it, unless it is said
    assert!(matches!(session.accept(2), Accepted::Splice { backtrack: 1, .. }));
    assert_eq!(session.accept(1), Accepted::Continue);
}

#[test]
fn the_answers_text_has_whole_characters() {
    let mut session = Session::<Prober>::open(request());
    session.accept(2);
    session.part(Part::Reasoning);
    session.accept(6);
    assert_eq!(
        (&session.plugin().texts[..], &session.plugin().parts[..]),
        (&["bc".to_string(), "bc".to_string()][..], &[Part::Unknown, Part::Reasoning][..])
    );
}

#[test]
fn prompt_text_is_the_templates() {
    let template = |messages: &str| {
        let content = messages.split("\"content\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        if content.contains('?') {
            Err("no questions".to_string())
        } else {
            Ok(format!("<{}>", content))
        }
    };
    let asking = |content: &str| request().prompt_text(template).messages(&format!(r#"[{{"role":"user","content":"{}"}}]"#, content));
    let mut session = Session::<Prober>::open(asking("Hi"));
    assert_eq!(session.rewrite(), Ok(r#"[{"role":"user","content":"<Hi!>"}]"#.to_string()));
    let mut session = Session::<Prober>::open(asking("Hi?"));
    assert!(session.rewrite().unwrap_err().contains("template"));
}

// SPDX-License-Identifier: MIT

use form_rust::Form;
use penstock::testing::{Request, Session};
use penstock::Token;

const LETTERS: &str = " abcdefghijklmnopqrstuvwxyzN:.,\n";

fn token(piece: char) -> Token {
    LETTERS.find(piece).unwrap() as Token
}

fn pieces() -> Vec<String> {
    LETTERS.chars().map(String::from).chain(Some("go".to_string())).collect()
}

/// A model that repeats how many tokens it was told, and ends a field after two letters.
fn echo(tokens: &[Token]) -> Vec<f32> {
    let colons: Vec<usize> = (0..tokens.len()).filter(|i| tokens[*i] == token(':')).collect();
    let (first, last) = (colons[0], colons[colons.len() - 1]);
    let since = tokens.len() - 1 - first;
    let next = if last + 2 >= tokens.len() { 1 + (tokens.len() + since) % 26 } else { token('.') as usize };
    (0..pieces().len()).map(|t| if t == next { 9.0 } else { 0.0 }).collect()
}

fn request(config: &str) -> Request {
    let go = pieces().len() as Token - 1;
    let request = Request::new().config(config).pieces(&pieces()).prompt(&[go]).max_tokens(100).context_size(256);
    request.sampling(r#"{"temperature":0}"#).says(echo)
}

fn fill(config: &str) -> (String, usize) {
    let mut session = Session::<Form>::open(request(config));
    let shown = session.run().unwrap();
    (shown.iter().map(|s| pieces()[s.token as usize].clone()).collect(), session.computed())
}

/// What is filled at once is what is filled one by one. A field that depends on another reads it,
/// and one that does not does not.
#[test]
fn form_at_once_is_one_by_one() {
    let config = |more: &str| format!(r#"{{"template":"a:{{a}}. bb:{{b}}. ccc:{{c}}.\n",{}}}"#, more);
    let together = fill(&config(r#""at_once":4"#));
    assert_eq!(together, fill(&config(r#""at_once":1"#)));
    assert_eq!(together.0.len(), "a:xx. bb:xx. ccc:xx.\n".len());
    let (depending, _) = fill(&config(r#""after":{"c":["a"]}"#));
    assert!(depending != together.0 && depending[..14] == together.0[..14], "{} and {}", depending, together.0);
    assert_eq!(fill(&config(r#""max_tokens":1"#)).0.len(), "a:x. bb:x. ccc:x.\n".len());
}

#[test]
fn form_gives_values() {
    let mut session = Session::<Form>::open(request(r#"{"template":"a:{a}. b:{b}"}"#));
    session.run().unwrap();
    let given = &session.outputs()[0];
    assert!(given.starts_with(r#"{"a":""#) && given.contains(r#","b":""#) && !given.contains(":."), "{}", given);
}

#[test]
fn form_refuses_what_it_cannot_fill() {
    for (config, says) in [
        (r#"{"template":"none"}"#, "no field"),
        (r#"{"template":"a {b"}"#, "end"),
        (r#"{"template":"{a} {a}"}"#, "twice"),
        (r#"{"template":"{a} {b}","after":{"a":["b"]}}"#, "before it"),
        (r#"{"template":"{a} {b}","after":{"b":["somebody"]}}"#, "somebody"),
    ] {
        let refused = Session::<Form>::try_open(request(config)).err().unwrap();
        assert!(refused.contains(says), "{}: {}", config, refused);
    }
}

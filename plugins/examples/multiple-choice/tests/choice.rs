// SPDX-License-Identifier: MIT

use multiple_choice::MultipleChoice;
use penstock::testing::{Request, Session};
use penstock::{Accepted, Token};

const END: Token = 6;

fn request(choices: &str) -> Request {
    let words = Request::new().pieces(&["y", "yes", "es", "n", "no", "t"]).end();
    words.config(&format!(r#"{{"choices":{}}}"#, choices)).prompt(&[0]).max_tokens(10)
}

/// The tokens that the mask allows.
fn allowed(session: &mut Session<MultipleChoice>) -> Vec<Token> {
    let prepared = session.prepare();
    (0..=END).filter(|t| prepared.allowed(*t)).collect()
}

#[test]
fn multiple_choice_allows_what_leads_to_a_choice() {
    let mut session = Session::open(request(r#"["yes","no","not"]"#));
    assert_eq!(allowed(&mut session), [0, 1, 4], "n leads nowhere: no token writes the o");
    assert_eq!(session.accept(4), Accepted::Continue);
    assert_eq!(allowed(&mut session), [5, END], "no is complete, and not goes on");
    assert_eq!(session.accept(5), Accepted::Stop);
}

#[test]
fn multiple_choice_goes_back() {
    let mut session = Session::open(request(r#"["yes","no"]"#));
    assert_eq!(session.accept(0), Accepted::Continue);
    assert_eq!(allowed(&mut session), [2]);
    session.rewind(1);
    assert_eq!(allowed(&mut session), [0, 1, 4]);
}

#[test]
fn multiple_choice_refuses_what_cannot_be_written() {
    let refused = Session::<MultipleChoice>::try_open(request(r#"["yes","maybe"]"#)).err().unwrap();
    assert!(refused.starts_with("config.choices[1]"), "{}", refused);
}

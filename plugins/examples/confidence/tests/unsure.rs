// SPDX-License-Identifier: MIT

use confidence::Confidence;
use penstock::testing::{Request, Session};
use penstock::Accepted;

#[test]
fn confidence_accept_ends_an_answer_that_is_unsure() {
    let request = Request::new().config(r#"{"least":0.5,"window":2}"#).pieces(&["a", "b"]).choice(1, 3);
    let mut session = Session::<Confidence>::open(request);
    for (logprob, want) in [(-0.1, Accepted::Continue), (-0.2, Accepted::Continue), (-1.0, Accepted::Continue), (-2.0, Accepted::Stop)] {
        session.logprob(logprob);
        assert_eq!(session.accept(1), want, "after {}", logprob);
    }
    assert_eq!(session.outputs(), [r#"{"choice":1,"probability":0.2231,"unsure":true}"#]);
}

#[test]
fn confidence_accept_leaves_out_what_is_not_known() {
    let request = Request::new().config(r#"{"least":0.5,"window":2}"#).pieces(&["a", "b"]);
    let mut session = Session::<Confidence>::open(request);
    session.logprob(-0.1);
    session.accept(0);
    assert_eq!(session.accept(1), Accepted::Continue);
    session.rewind(1);
    session.logprob(-9.0);
    assert_eq!(session.accept(1), Accepted::Stop);
}

// SPDX-License-Identifier: MIT

//! A plugin that reads hidden states and the prompt's text.

use penstock::testing::{Request, Session};
use penstock::{host, Accepted, Manifest, Message, Plugin, Token};

/// Stops where the state's first number is above 0, and takes a token back where it is below.
#[derive(Default)]
struct Prober {
    state: Vec<f32>,
    without: usize, // tokens that had no state
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
        if !host::hidden_state(&mut self.state) {
            self.without += 1;
            return if self.without == 2 { Accepted::Stop } else { Accepted::Continue };
        }
        match self.state[0] {
            x if x > 0.0 => Accepted::Stop,
            x if x < 0.0 => Accepted::Splice { backtrack: 1, tokens: vec![3] },
            _ => Accepted::Continue,
        }
    }

    fn rewrite(&mut self, mut messages: Vec<Message>) -> Result<Vec<Message>, String> {
        assert_eq!(host::prompt_text(None)?, format!("<{}>", messages[0].content));
        messages[0].content.push('!');
        messages[0].content = host::prompt_text(Some(&messages))?;
        Ok(messages)
    }
}

fn request() -> Request {
    Request::new().pieces(&["a", "b", "c", "d"]).prompt(&[0])
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
    assert_eq!(session.accept(1), Accepted::Stop);
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

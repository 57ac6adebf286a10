// SPDX-License-Identifier: MIT

//! Sessions with a plugin that puts back into the answer what it has taken out of the conversation.

use penstock::testing::{Request, Session};
use penstock::{Filtered, Manifest, Message, Plugin};

struct Unmask(String);

#[penstock::export]
impl Plugin for Unmask {
    const MANIFEST: Manifest = Manifest { name: "unmask", ..Manifest::DEFAULT };

    fn open(request: &penstock::Request) -> Result<Self, String> {
        Ok(Unmask(request.messages()?.first().map_or(String::new(), |m| m.content.clone())))
    }

    fn rewrite(&mut self, mut messages: Vec<Message>) -> Result<Vec<Message>, String> {
        messages[0].content = "[1]".into();
        Ok(messages)
    }

    fn filter(&mut self, text: &str, last: bool) -> Filtered {
        let keep = text.rfind('[').map_or(0, |at| text.len() - at);
        let keep = if last || keep > 2 { 0 } else { keep };
        Filtered { shown: Some(text[..text.len() - keep].replace("[1]", &self.0)), keep }
    }
}

#[test]
fn filter_puts_back_across_texts() {
    let mut s = Session::<Unmask>::open(Request::new().pieces(&["a"]).messages(r#"[{"role":"user","content":"Ann"}]"#));
    assert_eq!(s.rewrite().unwrap(), r#"[{"role":"user","content":"[1]"}]"#);
    let mut got = String::new();
    for text in ["Hi [", "1", "]!", " ["] {
        s.accept(0);
        got += &s.filter(text, false);
    }
    assert_eq!(got + &s.filter("2", true), "Hi Ann! [2");
    s.rewind(2); // "Hi [" and "1" are left
    assert_eq!(s.filter("] and", false), "Ann and");
}

#[test]
#[should_panic(expected = "filter keeps 1 bytes back")]
fn filter_keeps_nothing_at_the_end() {
    struct Keeps;
    #[penstock::export]
    impl Plugin for Keeps {
        const MANIFEST: Manifest = Manifest { name: "keeps", ..Manifest::DEFAULT };
        fn open(_: &penstock::Request) -> Result<Self, String> {
            Ok(Keeps)
        }
        fn filter(&mut self, _: &str, _: bool) -> Filtered {
            Filtered { shown: None, keep: 1 }
        }
    }
    Session::<Keeps>::open(Request::new()).filter("a", true);
}

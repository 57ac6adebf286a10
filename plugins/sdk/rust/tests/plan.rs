// SPDX-License-Identifier: MIT

//! A plugin that plans: what its plan says, and what it leaves for open.

use penstock::json::Value;
use penstock::testing::{Request, Session};
use penstock::{host, table, Accepted, Call, Manifest, Plan, Plugin, Table, Token, Vocabulary};

struct Banned {
    words: usize,
}

#[penstock::export]
impl Plugin for Banned {
    const MANIFEST: Manifest = Manifest { name: "banned", hold: 24, ..Manifest::DEFAULT };

    fn warm(_: &Vocabulary) -> Result<Table, String> {
        Ok(Box::new(Vec::<String>::new()))
    }

    fn plan(config: &Value, plan: &mut Plan) -> Result<(), String> {
        let words: Option<Vec<String>> = config.read("words")?;
        match words {
            None => {
                plan.without = vec![Call::Accept];
                plan.hold = 0;
            }
            Some(words) if words.is_empty() => return Err("config.words is empty; name some, or leave it out".to_string()),
            Some(words) => {
                plan.hold = words.len() as u32;
                plan.table = Some(Box::new(words));
            }
        }
        Ok(())
    }

    fn open(_: &penstock::Request) -> Result<Self, String> {
        Ok(Banned { words: table::<Vec<String>>().len() })
    }

    fn accept(&mut self, _: Token) -> Accepted {
        match host::fuel() {
            Some(left) if left > 1_000_000 => Accepted::Continue,
            _ => Accepted::Stop,
        }
    }
}

fn request(config: &str) -> Request {
    Request::new().pieces(&["a", "b"]).prompt(&[0]).config(config)
}

#[test]
fn plan_says_what_differs_and_leaves_a_table() {
    let mut session = Session::<Banned>::open(request(r#"{"words":["x","y"]}"#));
    assert_eq!(session.planned(), r#"{"hold":2}"#);
    assert_eq!(session.plugin().words, 2);
    assert_eq!(session.accept(1), Accepted::Continue);
}

#[test]
fn plan_leaves_what_warm_built() {
    let session = Session::<Banned>::open(request("{}"));
    assert_eq!(session.planned(), r#"{"implements":["penstock_open","penstock_warm","penstock_plan"],"hold":0}"#);
    assert_eq!(session.plugin().words, 0);
}

#[test]
fn plan_refuses_a_configuration() {
    let reason = Session::<Banned>::try_open(request(r#"{"words":[]}"#)).err().unwrap();
    assert_eq!(reason, "config.words is empty; name some, or leave it out");
}

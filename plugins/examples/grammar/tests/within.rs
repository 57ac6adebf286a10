// SPDX-License-Identifier: MIT

use grammar::Within;
use penstock::{abi, json, Plugin, Request};

fn open(config: &str) -> Result<Within, String> {
    Within::open(&Request { config: json::parse(config).unwrap(), ..Request::default() })
}

#[test]
fn within_follows_the_host_and_says_what_it_refuses() {
    // A host whose engine takes grammars of four bytes, and token 7 only.
    abi::install(abi::Host {
        grammar_open: |kind, _, len| if kind == abi::GRAMMAR_GBNF && len == 4 { 3 } else { -1 },
        grammar_accept: |handle, token| {
            assert_eq!((handle, token), (3, 7));
            0
        },
        ..abi::ABSENT
    });
    open(r#"{"grammar":"good"}"#).unwrap().accept(7);
    assert!(open(r#"{"grammar":"bad"}"#).err().unwrap().starts_with("grammar: "));
}

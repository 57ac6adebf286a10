// SPDX-License-Identifier: MIT

use json_schema::JsonSchema;
use penstock::{abi, json, Accepted, Plugin, Request};

fn open(max_tokens: usize, context_size: usize) -> Result<JsonSchema, String> {
    let config = json::parse(r#"{"schema":{"type":"object"}}"#).unwrap();
    JsonSchema::open(&Request { config, max_tokens, context_size, prompt_tokens: 90, ..Request::default() })
}

/// A host whose grammars take seven tokens, and end with token 7.
fn host() -> abi::Host {
    abi::Host {
        feature: |_, _| 1,
        grammar_open: |kind, _, _| if kind == abi::GRAMMAR_JSON_SCHEMA { 3 } else { -1 },
        grammar_accept: |_, token| if token == 9 { -1 } else { 0 },
        grammar_rest: |_| 7,
        grammar_reason: |_, _| 0,
        ..abi::ABSENT
    }
}

#[test]
fn open_wants_tokens_for_the_shortest_value() {
    abi::install(host());
    assert_eq!(open(6, 200).err().unwrap(), "max_tokens: 6 is too little for config.schema; it needs up to 7");
    assert_eq!(open(50, 96).err().unwrap(), "max_tokens: 6 is too little for config.schema; it needs up to 7");
    for (max_tokens, context_size) in [(7, 200), (0, 97), (0, 0)] {
        assert!(open(max_tokens, context_size).is_ok());
    }
}

#[test]
fn open_says_what_the_host_says_and_what_it_lacks() {
    abi::install(abi::Host { grammar_open: |_, _, _| -1, ..host() });
    assert!(open(50, 200).err().unwrap().starts_with("config.schema: "));
    abi::install(abi::Host { grammar_rest: |_| abi::REST_UNKNOWN, ..host() });
    assert!(open(50, 200).err().unwrap().contains("too long"));
    abi::install(abi::Host { feature: |_, _| 0, ..host() });
    assert!(open(50, 200).err().unwrap().contains("too old"));
}

#[test]
fn accept_stops_where_nothing_may_follow() {
    abi::install(host());
    let mut plugin = open(50, 200).unwrap();
    assert!(matches!(plugin.accept(1), Accepted::Continue));
    abi::install(abi::Host { grammar_rest: |_| abi::REST_ENDED, ..host() });
    assert!(matches!(plugin.accept(2), Accepted::Stop));
    assert!(matches!(plugin.accept(9), Accepted::Continue));
    assert!(matches!(plugin.accept(1), Accepted::Continue));
}

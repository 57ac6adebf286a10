// SPDX-License-Identifier: MIT

//! Masks against the automaton itself, which is asked about each token alone.

use json_schema::{compile::compile, fill::Filler, schema::Schema, state::State, words::Words};
use penstock::{json, testing::Request, Mask, Token, Vocabulary};

/// Split at the line breaks.
const WORDS: &str = r#"ab
abc
 the
{"
":
","
", "
"}
"]
"]}
a"
ab",
x"}
\n
\"
a\
\u
\u00
é
aé"
日本
12
],
]}
}}
["
],"b
a line of more than sixteen letters
a line of more than sixteen letters""#;

fn words() -> Words {
    let bytes: Vec<[u8; 1]> = (0..=255).map(|b| [b]).collect();
    let request = Request::new().pieces(&bytes).pieces(&[&b"\xe6\x97"[..], b"ab\xe6", b"\x97\"", b"\"\xff"]);
    let request = request.pieces(&WORDS.lines().collect::<Vec<_>>()).end();
    Words::new(request.within(Vocabulary::read)).unwrap()
}

fn take(schema: &Schema, words: &Words, state: &State, bytes: &[u8]) -> Option<State> {
    Some(schema.take(words, state, bytes)).filter(|state| !state.is_empty())
}

/// Tokens that the mask of a state has, and those that the automaton takes.
fn both(filler: &mut Filler, schema: &Schema, words: &Words, state: &State, budget: u32) -> (Vec<Token>, Vec<Token>) {
    let mut bits = vec![!0u32; (words.vocabulary.len() + 31) / 32];
    let mut mask = Mask::new(&mut bits);
    filler.fill(schema, words, state, budget, &mut mask);
    let all = 0..words.vocabulary.len() as Token;
    let taken = |t: &Token| match take(schema, words, state, words.vocabulary.piece(*t)) {
        _ if words.vocabulary.ends(*t) => state.iter().any(|stack| schema.complete(stack)),
        Some(after) => schema.least(&after, words) <= budget,
        None => false,
    };
    (all.clone().filter(|t| mask.allowed(*t)).collect(), all.filter(taken).collect())
}

const STRINGS: &[&str] = &[
    r#"{"type":"string","minLength":2,"maxLength":6}"#,
    r#"{"type":"string","maxLength":3}"#,
    r#"{"type":"string","minLength":40,"maxLength":60}"#,
    r#"{"type":"string"}"#,
];

#[test]
fn masks_in_strings_are_what_the_automaton_takes() {
    let (words, mut compared) = (words(), 0);
    for string in STRINGS {
        for (schema, begin) in [
            (string.to_string(), "\""),
            (format!(r#"{{"type":"array","items":{}}}"#, string), "[\""),
            (format!(r#"{{"properties":{{"a":{},"b":{}}},"required":["a"]}}"#, string, string), "{\"a\":\""),
        ] {
            let schema = compile(&json::parse(&schema).unwrap(), &words).unwrap();
            let (mut filler, mut tight) = (Filler::default(), Filler::default());
            for said in 0..62 {
                let text = format!("{}{}", begin, "é".repeat(said));
                let state = match take(&schema, &words, &schema.start(), text.as_bytes()) {
                    Some(state) => state,
                    None => break, // longer than maxLength
                };
                let (got, want) = both(&mut filler, &schema, &words, &state, 1000);
                assert_eq!(got, want, "{} after {}", string, text);
                for budget in [0, 2, 3, 5, 8, 14, 25] {
                    let (got, want) = both(&mut tight, &schema, &words, &state, budget);
                    assert!(
                        want.is_empty() || got == want,
                        "{} after {} with {} tokens left: {:?}, not {:?}",
                        string,
                        text,
                        budget,
                        got,
                        want
                    );
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "only {} states were compared", compared);
}

const PATTERNS: &[(&str, &str)] = &[
    (r#"{"pattern":"^[a-c]{2,30}(é|日)?$"}"#, "abcabcabcabcabcabcabcabcabé"),
    (r#"{"pattern":"^[a-z ]*$","maxLength":20}"#, "ab the abc ab the ab"),
    (r#"{"pattern":"^\\S+ \\S+$","minLength":6}"#, "aé日 abc"),
    (r#"{"pattern":"(a|\"|\n)b"}"#, "xx abab"),
    (r#"{"pattern":"^[^b]*$","allOf":[{"pattern":"^.{3,}$"}]}"#, "a the "),
    (r#"{"format":"date"}"#, "2024-12-12"),
    (r#"{"format":"email"}"#, "ab@c.de"),
];

#[test]
fn masks_of_patterns_are_what_the_automaton_takes() {
    let (words, mut compared) = (words(), 0);
    for (string, text) in PATTERNS {
        for (schema, begin) in [
            (string.to_string(), "\""),
            (format!(r#"{{"type":"array","items":{}}}"#, string), "[\""),
            (format!(r#"{{"properties":{{"a":{},"b":{}}},"required":["a"]}}"#, string, string), "{\"a\":\""),
        ] {
            let schema = compile(&json::parse(&schema).unwrap(), &words).unwrap();
            let mut filler = Filler::default();
            for (at, _) in text.char_indices() {
                let text = format!("{}{}", begin, &text[..at]);
                let state = take(&schema, &words, &schema.start(), text.as_bytes()).unwrap();
                for budget in [1000, 0, 2, 5, 9, 14, 40] {
                    let (got, want) = both(&mut filler, &schema, &words, &state, budget);
                    assert!(budget < 1000 || !want.is_empty(), "a dead end in {} after {}", string, text);
                    assert!(
                        want.is_empty() || got == want,
                        "{} after {} with {} tokens left: {:?}, not {:?}",
                        string,
                        text,
                        budget,
                        got,
                        want
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1000, "only {} masks were compared", compared);
}

#[test]
fn masks_of_the_next_item_are_what_the_automaton_takes() {
    let words = words();
    let schema = r#"{"type":"array","items":{"type":["string","integer"],"maxLength":5},"minItems":2}"#;
    let schema = compile(&json::parse(schema).unwrap(), &words).unwrap();
    let mut filler = Filler::default();
    let mut text = "[".to_string();
    for item in ["\"a\",", "12,", " \"", "ab\"", ",", "1", ",\"", "é\",", "3", "]"] {
        text.push_str(item);
        let state = take(&schema, &words, &schema.start(), text.as_bytes()).unwrap();
        if schema.least(&state, &words) > 0 {
            let (got, want) = both(&mut filler, &schema, &words, &state, 1000);
            assert_eq!(got, want, "after {}", text);
        }
    }
}

#[test]
fn masks_of_texts_are_what_the_automaton_takes() {
    let words = words();
    let names = r#""properties":{"a":{"enum":[1,12,123,"a","ab","abc"]},"ab":{"enum":[true,null,"tr"]},"abc":{"type":"integer"},"b":{"type":"null"}}"#;
    for (required, text) in [
        (r#"[]"#, r#"{"a": 123,"abc":12, "b":null}"#),
        (r#"["ab"]"#, r#"{"a":"ab","ab":"tr", "abc":12}"#),
        (r#"["ab","b"]"#, r#"{"ab": true,"b":null}"#),
        (r#"["a","ab","abc","b"]"#, r#"{"a":12,"ab":null,"abc":1,"b":null}"#),
    ] {
        let schema = format!(r#"{{{},"required":{}}}"#, names, required);
        let schema = compile(&json::parse(&schema).unwrap(), &words).unwrap();
        for at in 0..text.len() {
            let state = take(&schema, &words, &schema.start(), text[..at].as_bytes()).unwrap();
            for budget in [1000, 0, 2, 5, 9, 14] {
                let (got, want) = both(&mut Filler::default(), &schema, &words, &state, budget);
                assert!(budget == 1000 || !want.is_empty() || schema.least(&state, &words) > budget, "a dead end after {}", &text[..at]);
                assert!(want.is_empty() || got == want, "after {} with {} left: {:?}, not {:?}", &text[..at], budget, got, want);
            }
        }
    }
}

// SPDX-License-Identifier: MIT

//! Patterns that most of a large vocabulary fits: whatever the automaton takes is allowed, and nothing else.

use json_schema::{compile::compile, fill::Filler, pattern::Move, schema::Node, state::Place, words::Words};
use penstock::{json, testing::Request, Mask, Token, Vocabulary};

/// As many tokens as Llama 3 has: all bytes, and made-up words of 2 to 12 characters, about as many with quotes and escapes.
fn words() -> Words {
    let bytes: Vec<[u8; 1]> = (0..=255).map(|b| [b]).collect();
    let mut seed = 1u64;
    let mut below = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((seed >> 33) % n) as usize
    };
    let mut one = || {
        let head = [" ", " ", "", "é", "@", "日本"][below(6)].as_bytes();
        let letters: String = (0..2 + below(11)).map(|_| (b'a' + below(26) as u8) as char).collect();
        let tails: [&[u8]; 12] =
            [b"\"", b"\",", b"\"}", b"]", b".", b"7", b"\\n", b"\\u00e9", b"\\u0", b"\\", b"\xe6\x97", "日".as_bytes()];
        [head, letters.as_bytes(), if below(8) > 0 { b"" } else { tails[below(12)] }].concat()
    };
    let mut made: Vec<Vec<u8>> = (0..128_000).map(|_| one()).collect();
    made.extend((13..200).map(|n| "é".repeat(n / 2).into_bytes()));
    let request = Request::new().pieces(&bytes).pieces(&made).end();
    Words::new(request.within(Vocabulary::read)).unwrap()
}

/// Compares the masks after a text, where so many tokens may follow, with what the automaton says of each token. Of a pattern that
/// tells apart too much, only single characters need be allowed.
fn compare(words: &Words, schema: &str, texts: &[&str], budget: u32, absurd: bool) {
    let made = compile(&json::parse(schema).unwrap(), words).unwrap();
    let mut filler = Filler::default();
    for text in texts {
        let state = made.take(words, &made.start(), text.as_bytes());
        let (top, around) = state[0].split_last().unwrap();
        let (pattern, begin) = match (&made.nodes[top.node as usize], top.place) {
            (Node::Pattern(pattern), Place::Pattern(spot)) => (pattern, spot),
            _ => panic!("{} is not within a pattern after {}", schema, text),
        };
        let fits = |token: Token| {
            let (piece, mut spot) = (words.vocabulary.piece(token), begin);
            for byte in piece {
                match pattern.take(spot, *byte) {
                    Move::To(after) => spot = after,
                    Move::End => {
                        let after = made.take(words, &state, piece);
                        return !after.is_empty() && made.least(&after, words) <= budget;
                    }
                    Move::Wrong => return false,
                }
            }
            !words.vocabulary.ends(token) && made.rest(around, words) + pattern.rest(spot, words) <= budget
        };
        let mut bits = vec![!0u32; (words.vocabulary.len() + 31) / 32];
        let mut mask = Mask::new(&mut bits);
        filler.fill(&made, words, &state, budget, &mut mask);
        let all = 0..words.vocabulary.len() as Token;
        let wrong: Vec<Token> =
            all.clone().filter(|t| mask.allowed(*t) != fits(*t) && !(absurd && fits(*t) && words.vocabulary.piece(*t).len() > 1)).collect();
        let piece = |t: &Token| String::from_utf8_lossy(words.vocabulary.piece(*t)).into_owned();
        let first = wrong.first().map(piece);
        assert!(wrong.is_empty(), "{:.60} after {}: {} tokens are wrong, such as {:?}", schema, text, wrong.len(), first);
        assert!(all.filter(|t| mask.allowed(*t)).count() > 1000, "{:.60} after {} is not wide", schema, text);
    }
}

#[test]
fn wide_patterns_mask_nothing_that_fits() {
    let words = words();
    for (schema, texts) in [
        (r#"{"pattern":"^(.{3}[^x])*$"}"#, ["\"", "\"abc", "\"abcde"]),
        (r#"{"pattern":"^.*@.*$"}"#, ["\"", "\"ab@", "\"é"]),
        (r#"{"pattern":"^[^0-9]*$"}"#, ["\"", "\"a b", "\"é\\n"]),
        (r#"{"pattern":"^[^0-9]*$","minLength":9,"maxLength":20}"#, ["\"", "\"a b", "\"abcdefghijkl"]),
    ] {
        compare(&words, schema, &texts, 1000, false);
        compare(&words, schema, &texts, 14, false);
    }
}

/// So many patterns that each cannot have a trie of its own, and one that tells apart too much.
#[test]
fn absurd_patterns_allow_nothing_wrong() {
    let words = words();
    let items: Vec<String> = ('A'..='Z').chain('a'..='z').map(|c| format!(r#"{{"pattern":"^[^{}]*$"}}"#, c)).collect();
    let schema = format!(r#"{{"prefixItems":[{}],"minItems":52,"maxItems":52}}"#, items.join(","));
    let text = |item| format!("[{}\"é", "\"é\",".repeat(item));
    compare(&words, &schema, &[&text(0)], 1000, false);
    compare(&words, &schema, &[&text(20), &text(51)], 1000, true);
    compare(&words, r#"{"pattern":"^([a-m][^a]|[^a-m][^z])*$"}"#, &["\"", "\"a", "\"b é"], 1000, true);
}

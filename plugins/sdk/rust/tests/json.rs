// SPDX-License-Identifier: MIT

use penstock::json::{parse, quote, Value};

#[test]
fn parse_reads_what_is_json() {
    for (text, want) in [
        ("null", "null"),
        (" [ 1 , -2.5e+3,true ] ", "[1,-2.5e+3,true]"),
        (r#"{"a":{"b":[]},"c":false}"#, r#"{"a":{"b":[]},"c":false}"#),
        (r#""\u00e9\n\"\/\\ \ud83d\ude00""#, "\"é\\n\\\"/\\\\ 😀\""),
        ("0", "0"),
        ("\"\\u0000\"", "\"\\u0000\""),
    ] {
        assert_eq!(parse(text).map(|v| v.to_string()).as_deref(), Ok(want), "{}", text);
    }
}

#[test]
fn parse_refuses_what_is_not() {
    let deep = "[".repeat(1000);
    for text in [
        "",
        " ",
        "nul",
        "tru e",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":1,}",
        "\"",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "1 1",
        "[",
        "{",
        "NaN",
        "'a'",
        "\u{feff}1",
        &deep,
    ] {
        assert!(parse(text).is_err(), "{:?} must be refused", text);
    }
}

#[test]
fn parse_survives_a_long_flat_value_and_the_deepest() {
    let flat = format!("[{}0]", "0,".repeat(100_000));
    assert_eq!(parse(&flat).unwrap().items().unwrap().len(), 100_001);
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    assert!(parse(&deep).is_ok());
}

#[test]
fn values_are_read_as_what_they_are() {
    let v = parse(r#"{"n":2.0,"x":2.5,"big":1e300,"s":"t","a":1,"a":2}"#).unwrap();
    let integer = |name: &str| v.get(name).and_then(Value::integer);
    assert_eq!((integer("n"), integer("x"), integer("big"), integer("s"), integer("a")), (Some(2), None, None, None, Some(2)));
    assert_eq!(v.get("x").and_then(Value::number), Some(2.5));
    assert_eq!(v.get("s").and_then(Value::text), Some("t"));
    assert!(v.get("none").is_none() && v.items().is_none() && v.get("s").unwrap().get("x").is_none());
}

#[test]
fn members_are_read_as_the_type_that_is_wanted() {
    let v = parse(r#"{"p":0.5,"n":3,"list":["a","b"],"off":false,"nothing":null}"#).unwrap();
    assert_eq!((v.read("p"), v.read("n"), v.read("off")), (Ok(0.5f32), Ok(3usize), Ok(false)));
    assert_eq!(v.read::<Vec<String>>("list").unwrap(), ["a", "b"]);
    assert_eq!(
        (v.read::<Option<u32>>("n"), v.read::<Option<u32>>("nothing"), v.read::<Option<u32>>("x")),
        (Ok(Some(3)), Ok(None), Ok(None))
    );
    assert_eq!(v.read::<f32>("x").unwrap_err(), "x is missing");
    assert_eq!(v.read::<i64>("p").unwrap_err(), "p must be a whole number");
    assert_eq!(v.read::<Vec<u32>>("list").unwrap_err(), "list must be a list");
}

/// A generator of its own, so that a failure is found again.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn random_value(r: &mut Random, depth: u64) -> Value {
    let kinds = if depth == 0 { 4 } else { 6 };
    let word = |r: &mut Random| -> String {
        (0..r.below(6)).map(|_| ['a', '"', '\\', '\u{1}', 'é', '😀', '\u{2028}', ' '][r.below(8) as usize]).collect()
    };
    match r.below(kinds) {
        0 => Value::Null,
        1 => Value::Bool(r.below(2) == 0),
        2 => Value::Number(format!("{}.{}e-{}", r.below(100), r.below(100), r.below(9))),
        3 => Value::String(word(r)),
        4 => Value::Array((0..r.below(4)).map(|_| random_value(r, depth - 1)).collect()),
        _ => Value::Object((0..r.below(4)).map(|_| (word(r), random_value(r, depth - 1))).collect()),
    }
}

#[test]
fn what_is_written_reads_back() {
    let mut r = Random(1);
    for _ in 0..5_000 {
        let value = random_value(&mut r, 4);
        assert_eq!(parse(&value.to_string()).as_ref(), Ok(&value));
    }
}

#[test]
fn damaged_text_never_panics_and_what_reads_reads_again() {
    let mut r = Random(2);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut chars: Vec<char> = random_value(&mut r, 3).to_string().chars().collect();
        for _ in 0..=r.below(3) {
            let at = r.below(chars.len() as u64 + 1) as usize;
            let c = ['"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', 'e', 'u', '\n', 'é'][r.below(14) as usize];
            if at < chars.len() && r.below(2) == 0 {
                chars[at] = c;
            } else {
                chars.insert(at, c);
            }
        }
        let text: String = chars.into_iter().collect();
        if let Ok(value) = parse(&text) {
            read += 1;
            assert_eq!(parse(&value.to_string()), Ok(value), "{}", text);
        }
    }
    assert!(read > 100, "only {} of the damaged texts were JSON still", read);
}

#[test]
fn quote_escapes_only_what_must_be() {
    assert_eq!(quote("a\"b\\c\nd\u{7f}é"), "\"a\\\"b\\\\c\\nd\u{7f}é\"");
}

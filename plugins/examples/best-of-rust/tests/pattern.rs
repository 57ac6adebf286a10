// SPDX-License-Identifier: MIT

use best_of_rust::pattern::Pattern;

/// What Go's package regexp gives of these, as the example in Go does.
#[test]
fn pattern_finds_what_it_matches_last() {
    for (pattern, text, want) in [
        ("b", "abcb", Some("b")),
        ("(\\d+)", "4 and 52.", Some("52")),
        ("([0-9])\\s*$", "it is 4 \n", Some("4")),
        ("answer: (yes|no)", "answer: yes, answer: no, answer: maybe", Some("no")),
        ("a|ab", "ab", Some("a")),
        ("(?:a|ab)(c|bcd)(d*)", "abcd", Some("bcd")),
        ("x*", "aax", Some("x")),
        ("x*", "aa", Some("")),
        ("(a)|b", "ab", Some("")),
        ("<.+?>", "<a><b>", Some("<b>")),
        ("<(.+)>", "<a><b>", Some("a><b")),
        ("a{2,3}", "aaaaaaa", Some("aaa")),
        ("a{2}", "aaaaa", Some("aa")),
        ("a{2,}?", "aaaaa", Some("aa")),
        ("[^,\\s]+", "one, two", Some("two")),
        ("[]a-c-]+", "x]b-", Some("]b-")),
        ("\\bgr\\w+", "a green grass", Some("grass")),
        ("^a", "ba", None),
        ("\\$\\d\\.\\d\\d", "it is $3.50.", Some("$3.50")),
        (".", "a\n", Some("a")),
        ("ü+", "füü", Some("üü")),
        ("(a*)*b", &("a".repeat(60) + "c"), None),
        ("(?:|a)+$", "aaa", Some("aaa")),
        ("(a|b(c|d))+", "abdac", Some("a")),
    ] {
        assert_eq!(Pattern::read(pattern).unwrap().last(text).as_deref(), want, "{} in {:?}", pattern, text);
    }
}

#[test]
fn pattern_refuses_what_it_does_not_know() {
    let deep = "(".repeat(60) + &")".repeat(60);
    for (pattern, says) in [
        ("(", "not closed"),
        ("a)", "closes nothing"),
        ("*", "repeats nothing"),
        ("[a", "not closed"),
        ("[z-a]", "backwards"),
        ("a{3,2}", "no number"),
        ("a\\", "escapes nothing"),
        ("(?i)a", "(?:"),
        ("\\pL", "\\p is not known"),
        ("[[:alpha:]]", "[:"),
        ("(a{1000}){1000}", "steps"),
        ("a{99999999999}", "steps"),
        ("a{99999999999999999999}", "no number"),
        (&deep, "in more than 50"),
    ] {
        let refused = Pattern::read(pattern).err().unwrap_or_default();
        assert!(refused.contains(says), "{}: {:?}", pattern, refused);
    }
}
